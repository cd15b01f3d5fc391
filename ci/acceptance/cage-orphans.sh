#!/usr/bin/env bash
# No box outlives its launcher: kill -9 of it at any moment leaves nothing that
# runs for longer than seconds, and nothing at all after the next launch. And
# cage exec is the harness's equal in a real box. FULL=1 kills 300 times instead
# of 8, and suspends for a minute.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

cage=$root/bin/cage
kills=8 pause=7
[ "${FULL:-}" != 1 ] || kills=300 pause=60
project=$(new_project)

# The boxes of this script's project, in any state or only running.
boxes() { docker ps -aq --filter "label=dev.agent-cage.project=$project" "$@" | wc -l; }
running_boxes() { boxes --filter status=running; }

# gone_within SECONDS: no box of this script runs any more.
gone_within() {
    local deadline=$((SECONDS + $1))
    until [ "$(running_boxes)" = 0 ]; do
        [ $SECONDS -lt $deadline ] || return
        sleep 0.2
    done
}

t "the image is there" in_box "$project" true

next_launch_cleans() { in_box "$project" true && is 0 "$(boxes)"; }

# start_box NAME COMMAND...: $launcher is its pid; returns when it runs.
start_box() {
    local name=$1 tries=0
    shift
    (cd "$project" && exec "$box" --engine none --name "$name" --exec -- "$@" </dev/null >"$scratch/out" 2>&1) &
    launcher=$!
    until grep -q up "$scratch/out" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 150 ] || { cat "$scratch/out"; return 1; }
        sleep 0.1
    done
    sleep 1 # the lifeline comes beside the harness
}

killed_with() {
    start_box "$1" sh -c "$2" && kill -9 "$launcher" && gone_within 8 && next_launch_cleans
}
t "kill -9: a harness that does nothing" killed_with "orphans-$$-a" 'echo up; exec sleep 1000'
t "kill -9: a harness that ignores TERM" killed_with "orphans-$$-b" 'trap "" TERM HUP; echo up; while :; do sleep 1; done'
t "kill -9: a harness that stops all it can" killed_with "orphans-$$-c" 'trap "" TERM; echo up; while :; do kill -STOP -1 2>/dev/null; sleep 0.1; done'
t "kill -9: a harness that forks without end" killed_with "orphans-$$-d" 'ulimit -u 300; trap "" TERM; echo up; while :; do sleep 1000 & done 2>/dev/null'

suspended() {
    start_box "orphans-$$-e" sh -c 'echo up; exec sleep 1000' && kill -STOP "$launcher" && sleep $pause || return
    next_running=$(running_boxes)
    in_box "$project" true
    kill -CONT "$launcher"
    is "1 1" "$next_running $(running_boxes)" && "$cage" stop "orphans-$$-e" && wait "$launcher"
    is 143 $? && is 0 "$(boxes)"
}
t "a launcher suspended for $pause s keeps its box, also from the next launch" suspended

executes() {
    start_box "orphans-$$-f" sh -c 'echo up; exec sleep 1000' || return
    local out status=0
    out=$("$cage" exec "orphans-$$-f" sh -c 'id -u; pwd; grep -c "^Cap.*0000000000000000" /proc/self/status; grep NoNewPrivs /proc/self/status | tr -cd 01; exit 9') || status=$?
    "$cage" stop "orphans-$$-f"
    wait "$launcher"
    local uid
    uid=$(id -u)
    [ "$uid" != 0 ] || uid=1000
    is 9 $status && is "$(printf '%s\n%s\n5\n1' "$uid" "$project")" "$out"
}
t "cage exec is the harness's equal" executes

# runs_in_box NAME TEXT: a command line in it has the text.
# shellcheck disable=SC2016 # the script is the box's
runs_in_box() { "$cage" exec -n "$1" sh -c 'grep -qz "$1" /proc/[0-9]*/cmdline 2>/dev/null' sh "$2"; }
ended_in_box() {
    local tries=0
    while runs_in_box "$1" "$2"; do
        tries=$((tries + 1))
        [ $tries -lt 20 ] || return
        sleep 0.2
    done
}
# exec_signalled NAME SIGNAL STATUS: it is the command's.
exec_signalled() {
    local pid status=0
    # Of a job in the background the shell ignores INT.
    env --default-signal=INT,QUIT "$cage" exec "$1" sleep "77$3" </dev/null &
    pid=$!
    sleep 1.5
    runs_in_box "$1" "^77$3" && kill "-$2" $pid || return
    wait $pid || status=$?
    is "$3" $status && ended_in_box "$1" "^77$3"
}
exec_leaves_nothing() {
    start_box "orphans-$$-g" sh -c 'echo up; exec sleep 1000' || return
    local name=orphans-$$-g result=0 first
    { exec_signalled "$name" INT 130 && exec_signalled "$name" TERM 143 && exec_signalled "$name" QUIT 131; } || result=1
    first=$("$cage" exec "$name" yes | head -n 1)
    is y "$first" && ended_in_box "$name" '^yes$' || result=1
    is "" "$(printf 'one\ntwo\n' | { read -r _ && "$cage" exec -n "$name" cat; })" || result=1
    is two "$(printf 'one\ntwo\n' | { read -r _ && "$cage" exec -n "$name" true && read -r line && echo "$line"; })" || result=1
    "$cage" exec "$name" -- true || result=1
    "$cage" stop -t 1 "$name" && wait "$launcher"
    return $result
}
t "what cage exec runs gets its signals, and ends where nobody reads it" exec_leaves_nothing

# Half of them at moments of the start, half at any of the run.
random_kills() {
    local i delay
    for ((i = 0; i < kills; i++)); do
        delay=$(awk -v r=$RANDOM -v s=$((i % 2)) 'BEGIN { print r / 32768 * (s ? 0.6 : 2) }')
        (cd "$project" && exec "$box" --engine none --exec -- sleep 0.8 </dev/null >/dev/null 2>&1) &
        launcher=$!
        sleep "$delay"
        kill -9 "$launcher" 2>/dev/null
        wait "$launcher" 2>/dev/null
    done
    gone_within 8 && next_launch_cleans
}
t "$kills times kill -9 at random moments leave nothing" random_kills

finish
