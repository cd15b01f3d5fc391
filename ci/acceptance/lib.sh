# shellcheck shell=bash
# What the acceptance scripts share. A script sources this, calls t once a check
# and ends with finish. Its output is TAP: "ok N - NAME" or "not ok N - NAME".
#
# Given to a script: $root, the repository; $scratch, a folder of its own below
# the temporary directory, removed at the end; $box, the launcher. Its HOME is
# $scratch/home, so that nothing of the user's is read or left behind.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/agent-cage.XXXXXX")
# Other users of a test pass through; what is theirs is below.
chmod 0711 "$scratch"
box=$root/bin/claude-box

# The engine's context and the record of built images are the user's all the same.
export DOCKER_CONFIG=${DOCKER_CONFIG:-$HOME/.docker} XDG_STATE_HOME=${XDG_STATE_HOME:-$HOME/.local/state}
# So are Go's caches.
GOPATH=$(go env GOPATH) GOCACHE=$(go env GOCACHE)
export GOPATH GOCACHE
export HOME=$scratch/home
mkdir "$HOME"
export ANTHROPIC_API_KEY=scripted-key-of-the-acceptance-tests
unset CLAUDE_BOX_EXEC CLAUDE_BOX_DEBUG CLAUDE_BOX_ENGINE_MODE CLAUDE_BOX_EXTRA_VARS CLAUDE_BOX_EXTRA_MOUNTS

count=0 failures=0
server_pid=''
cleanups=()

# at_exit COMMAND...: run at the end, last registered first.
at_exit() { cleanups+=("$(printf '%q ' "$@")"); }

cleanup() {
    local i
    [ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null
    for ((i = ${#cleanups[@]} - 1; i >= 0; i--)); do eval "${cleanups[i]}" >/dev/null 2>&1; done
    rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# t NAME COMMAND...: a check passes if the command's status is 0. Its output is
# shown if it does not.
t() {
    local name=$1 began=$SECONDS log=$scratch/check.log
    shift
    count=$((count + 1))
    if "$@" >"$log" 2>&1 </dev/null; then
        echo "ok $count - $name ($((SECONDS - began)) s)"
    else
        failures=$((failures + 1))
        echo "not ok $count - $name"
        tail -n 25 "$log" | sed 's/^/# /'
    fi
}

# skip NAME REASON: a check that cannot be made here.
skip() {
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

# finish: the plan line, without which the runner counts the script as broken.
finish() {
    echo "1..$count"
    [ "$failures" = 0 ]
}

# not COMMAND...: the opposite status.
not() { ! "$@"; }

# is WANT GOT: equality, shown if it fails.
is() {
    [ "$1" = "$2" ] && return
    printf 'want: %s\ngot:  %s\n' "$1" "$2"
    return 1
}

# has PATTERN...: as grep -q, for the end of a pipe: it reads all, or the writer
# may die of SIGPIPE, which is the pipe's status here.
has() {
    local text
    text=$(cat) && grep -q "$@" <<<"$text"
}

# new_project: prints the path of an empty directory.
new_project() { mktemp -d "$scratch/project.XXXXXX"; }

# in_box PROJECT COMMAND...: runs a command in the box instead of the harness.
in_box() {
    local project=$1
    shift
    (cd "$project" && exec "$box" --engine none --exec "$@")
}

# start_server SCRIPT: a scripted model server; $server_url is where it answers.
start_server() {
    (cd "$root" && go build -o .cache/bin/scripted-api ./ci/scripted-api) || return
    rm -f "$scratch/port"
    "$root/.cache/bin/scripted-api" --listen 127.0.0.1:0 --port-file "$scratch/port" --script "$1" \
        --record "$scratch/record.jsonl" >"$scratch/server.log" 2>&1 &
    server_pid=$!
    local tries=0
    until [ -s "$scratch/port" ]; do
        tries=$((tries + 1))
        if [ $tries -gt 100 ] || ! kill -0 "$server_pid" 2>/dev/null; then
            cat "$scratch/server.log"
            return 1
        fi
        sleep 0.1
    done
    export ANTHROPIC_BASE_URL CLAUDE_BOX_EXTRA_VARS=ANTHROPIC_BASE_URL
    ANTHROPIC_BASE_URL=http://127.0.0.1:$(cat "$scratch/port")
}

# stop_server: fails if the client did not follow the script to its end.
stop_server() {
    local pid=$server_pid
    server_pid=''
    kill -TERM "$pid" && wait "$pid" && return
    cat "$scratch/server.log"
    return 1
}

# layer_size IMAGE BASE: bytes that IMAGE adds to BASE.
layer_size() {
    echo $(($(docker image inspect --format '{{.Size}}' "$1") - $(docker image inspect --format '{{.Size}}' "$2")))
}

[ -x "$box" ] || {
    echo "not ok 1 - $box is built: run make build"
    exit 1
}
