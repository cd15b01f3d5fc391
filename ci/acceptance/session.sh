#!/usr/bin/env bash
# The main job: a real headless session runs a command, writes a file in the
# mounted project and closes with a text.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

project=$(new_project)
state=$HOME/.claude-box/state
file=hello-from-the-box.txt

# session ARGUMENT...: with stdout, stderr and the status kept for the checks.
session() {
    status=0
    "$box" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
    echo "$status" >"$scratch/status"
    cat "$scratch/out" "$scratch/err"
}

main_job() {
    start_server "$root/ci/scripted-api/scripts/claude-main-job.json" || return
    session "$project" --network host -p "Look at the system, then write $file."
    stop_server && is 0 "$(cat "$scratch/status")"
}

# The model asks for the command's user and kernel calls; the expectations are in
# the script, and a result that is not as expected ends the session with an error.
confined() {
    start_server "$root/ci/acceptance/session-confined.json" || return
    session "$project" --engine none --network host -p "Say who you are."
    stop_server && is 0 "$(cat "$scratch/status")"
}

owned() { is "$(id -u):$(id -g) 644" "$(stat -c '%u:%g %a' "$project/$file")"; }

continued() {
    start_server "$root/ci/acceptance/session-continue.json" || return
    session "$project" --network host --continue -p "And now?"
    stop_server && is 0 "$(cat "$scratch/status")"
}

status_of() {
    local want=$1 got=0
    shift
    in_box "$project" "$@" 2>"$scratch/err" || got=$?
    cat "$scratch/err"
    is "$want" "$got" && not grep fault= "$scratch/err"
}

standard_input() {
    is 'one two' "$(printf 'one two' | (cd "$project" && "$box" --engine none --exec cat))"
}

separate_streams() {
    (cd "$project" && "$box" --engine none --exec sh -c 'echo out; echo err >&2') >"$scratch/out" 2>"$scratch/err"
    is out "$(cat "$scratch/out")" && grep -qx err "$scratch/err"
}

refused() {
    local status=0
    "$box" "$1" -p hello >"$scratch/out" 2>"$scratch/err" || status=$?
    cat "$scratch/out" "$scratch/err"
    is 1 "$status" && grep -q '^claude-box: fault=usage detail="' "$scratch/err" && [ ! -s "$scratch/out" ]
}

nothing_left() { is '' "$(docker ps -aq --filter label=dev.agent-cage.kind=box)"; }

t "the session runs to its end, with status 0" main_job
t "stdout has the closing text and nothing else" is "The job is done: the command ran and $file is written." "$(cat "$scratch/out")"
t "stderr has no fault line" not grep fault= "$scratch/err"
t "the file is in the project on the host" is "written by a scripted session" "$(cat "$project/$file" 2>&1)"
t "it belongs to the caller" owned
t "nothing else is in the project" is "$file" "$(ls -A "$project")"
t "the state is on the host" test -s "$state/.claude.json"
t "the harness is not root and gains nothing" confined
t "a second launch carries the session on" continued
t "status 0 is the command's" status_of 0 true
t "status 37 is the command's" status_of 37 sh -c 'exit 37'
t "status 125 is the command's" status_of 125 sh -c 'exit 125'
t "stdin reaches the command" standard_input
t "stdout and stderr stay apart" separate_streams
t "\$HOME is refused" refused "$HOME"
t "an ancestor of \$HOME is refused" refused "$scratch"
t "no box is left" nothing_left
finish
