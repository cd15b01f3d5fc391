#!/usr/bin/env bash
# kill -9 of a launcher in each phase of a run: a box that was started is gone
# within 8 s, one that was made after the next launch. And many boxes at once.
# FULL=1 tries more moments.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

project=$(new_project)
at_exit remove_boxes
prepared() { tool faulty-engine && in_box "$project" true; }
t "the image is there" prepared

next_launch_cleans() {
    in_box "$project" true && no_box && not [ -e "$scratch/name" ] &&
        is '' "$(find "$XDG_STATE_HOME/agent-cage" -maxdepth 2 -name '*.tmp')"
}

# killed_at REQUEST: at that request, which the engine still gets.
killed_at() {
    rm -f "$scratch/faulty.sock" "$scratch/pid"
    "$tools/faulty-engine" --listen "$scratch/faulty.sock" --engine "$engine_socket" --log "$scratch/faulty.log" \
        --rule "$1 run kill -9 \$(cat $scratch/pid)" &
    local proxy=$!
    appears "$scratch/faulty.sock" || return
    DOCKER_HOST=unix://$scratch/faulty.sock sh -c 'cd "$1" && echo $$ >"$2" && shift 2 && exec "$@"' sh "$project" "$scratch/pid" \
        "$box" --engine none --name-file "$scratch/name" --exec true </dev/null >/dev/null 2>&1
    is 137 $?
    local result=$?
    sleep 0.5 # the engine has the request
    kill $proxy
    wait $proxy 2>/dev/null
    [ $result = 0 ] && no_box_runs_within 8 && next_launch_cleans
}
t "before anything is asked" killed_at "HEAD /_ping"
t "before create" killed_at "GET /images/json"
t "during create" killed_at "POST /containers/create"
t "created" killed_at "POST /containers/[^/]*/attach"
t "during start" killed_at "POST /containers/[^/]*/start"
t "removing" killed_at "DELETE /containers/"

# half_sent PAUSE [COMMAND...]: at so long after a part of the run has been sent
# to the box. COMMAND runs the launcher.
half_sent() {
    local pause=$1 result=1
    shift
    rm -f "$scratch/faulty.sock" "$scratch/pid"
    "$tools/faulty-engine" --listen "$scratch/faulty.sock" --engine "$engine_socket" --log "$scratch/faulty.log" \
        --rule "POST /containers/[^/]*/attach stall 100" &
    local proxy=$! launcher
    appears "$scratch/faulty.sock" || return
    printf 'cd %q && echo $$ >%q && exec %q --engine none --exec touch up\n' "$project" "$scratch/pid" "$box" >"$scratch/begin"
    DOCKER_HOST=unix://$scratch/faulty.sock "$@" sh "$scratch/begin" </dev/null >"$scratch/out" 2>&1 &
    launcher=$!
    if stalled && sleep "$pause" && box_runs && kill -9 "$(cat "$scratch/pid")"; then
        no_box_runs_within 8
        result=$?
    fi
    kill $proxy
    wait $proxy $launcher 2>/dev/null
    [ $result = 0 ] && not [ -e "$project/up" ] && next_launch_cleans
}
stalled() {
    local tries=0
    until grep -q '^stalled' "$scratch/faulty.log"; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || return
        sleep 0.1
    done
}
in_terminal() { script -qec "$*" /dev/null; }
t "handshake half sent, and there is a lifeline" half_sent 3
t "handshake half sent, in a terminal" half_sent 0.5 in_terminal
if [ "${FULL:-}" = 1 ]; then
    t "handshake half sent, and there is no lifeline" half_sent 0.5
    t "handshake half sent, in a terminal, and there is a lifeline" half_sent 3 in_terminal
fi

# The box has ended, and its removal does not reach the engine.
never_removed() {
    rm -f "$scratch/faulty.sock"
    "$tools/faulty-engine" --listen "$scratch/faulty.sock" --engine "$engine_socket" --log "$scratch/faulty.log" \
        --rule "DELETE /containers/ lose" &
    local proxy=$!
    appears "$scratch/faulty.sock" || return
    DOCKER_HOST=unix://$scratch/faulty.sock launch "$box" --engine none --exec sh -c 'exit 5'
    wait $proxy
    ended 5 && grep -q 'WARNING: the box .* could not be removed' "$scratch/err" && not no_box && next_launch_cleans
}
t "a box that could not be removed" never_removed

# run_and_kill PAUSE: kill -9 so long after the harness's first instruction;
# $scratch/took says how long its box's first process then lived.
run_and_kill() {
    rm -f "$project/up"
    (cd "$project" && exec "$box" --engine none --name-file "$scratch/name" --exec sh -c 'touch up; exec sleep 100' </dev/null >/dev/null 2>&1) &
    local launcher=$! began first
    appears "$project/up" && sleep "$1" && first=$(docker inspect -f '{{.State.Pid}}' "$(boxes)") || return
    began=${EPOCHREALTIME/./}
    kill -9 $launcher
    while [ -e "/proc/$first" ] && [ $((${EPOCHREALTIME/./} - began)) -lt 8000000 ]; do sleep 0.01; done
    echo $(((${EPOCHREALTIME/./} - began) / 1000)) >"$scratch/took"
    not [ -e "/proc/$first" ] && no_box_runs_within 2 && next_launch_cleans
}
t "running, before there is a lifeline" run_and_kill 0
t "running" run_and_kill 1.5
# It takes 200 ms at most where nothing else is to be done.
t "and gone at once: $(cat "$scratch/took") ms" [ "$(cat "$scratch/took")" -lt 500 ]

# A harness that has taken every process there may be, from its first moment
# to longer than a box lives without a lifeline; and then its launcher is killed.
of_all_processes() {
    local bomb='sh -c "for i in \$(seq 200); do sleep 100 & done" 2>/dev/null; touch up; exec sleep 100'
    rm -f "$project/up"
    (cd "$project" && exec "$box" --engine none --pids-limit 32 --exec sh -c "$bomb" </dev/null >/dev/null 2>"$scratch/err") &
    local launcher=$!
    appears "$project/up" && sleep 7 && box_runs || return
    kill -9 $launcher
    no_box_runs_within 8 && next_launch_cleans
}
t "a harness that has taken all processes has a lifeline, and ends by it" of_all_processes

few_processes() {
    launch "$box" --engine none --pids-limit 31 --exec true
    faulted 1 usage "31 processes are too few"
}
t "fewer processes than a box needs" few_processes

many() {
    local n pids=() got=''
    for n in $(seq 20); do
        in_box "$project" sh -c "sleep 1; exit $((n * 11))" </dev/null >/dev/null 2>&1 &
        pids+=($!)
    done
    for n in $(seq 20); do
        wait "${pids[n - 1]}"
        got+="$? "
    done
    is "$(seq -s ' ' 11 11 220) " "$got" && no_box
}
t "20 boxes at once end with 20 different statuses" many
finish
