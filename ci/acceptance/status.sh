#!/usr/bin/env bash
# A launcher's status is the harness's, whatever the number, and then there is
# no fault line. FULL=1 tries every status instead of some.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

project=$(new_project)
statuses=(0 1 2 3 42 64 77 100 124 125 126 127 128 129 130 137 139 141 143 254 255)
[ "${FULL:-}" != 1 ] || mapfile -t statuses < <(seq 0 255)
signals=(INT TERM KILL HUP QUIT SEGV ABRT PIPE)
at_once=4

# The ways in which a launcher is run: each prints its stderr and returns its
# status.
files() { (cd "$project" && exec "$box" --engine none --exec "$@") </dev/null 2>&1 >/dev/null; }
pipes() {
    : | (cd "$project" && exec "$box" --engine none --exec "$@") 2>&1 >/dev/null | cat
    return "${PIPESTATUS[1]}"
}
ordinary_user() { (cd "$user_project" && as_user "$user_box" --engine none --exec "$@") </dev/null 2>&1 >/dev/null; }

# one WAY WANT SCRIPT: notes what is wrong.
one() {
    local said got=0
    said=$("$1" sh -c "$3") || got=$?
    [ "$got" = "$2" ] || echo "$3: want $2, got $got" >>"$scratch/wrong"
    [[ $said != *fault=* ]] || echo "$3: $said" >>"$scratch/wrong"
}

# some WAY: reads lines WANT SCRIPT and tries them, some at a time.
some() {
    local want script tried=0
    : >"$scratch/wrong"
    while read -r want script; do
        [ "$(jobs -rp | wc -l)" -lt $at_once ] || wait -n
        one "$1" "$want" "$script" </dev/null &
        tried=$((tried + 1))
    done
    wait
    echo "$tried tried"
    cat "$scratch/wrong"
    [ ! -s "$scratch/wrong" ] && [ $tried -gt 0 ]
}

all_statuses() { for n in "${statuses[@]}"; do echo "$n exit $n"; done | some "$1"; }
all_signals() { for s in "${signals[@]}"; do echo "$((128 + $(kill -l "$s"))) ulimit -c 0; kill -$s \$\$; sleep 9"; done | some "$1"; }

ways=(files pipes)
t "the image is there" in_box "$project" true
if [ "$(id -u)" = 0 ]; then
    t "an ordinary user is made" make_user
    ways+=(ordinary_user)
else
    skip "an ordinary user" "only root can make one"
fi
for way in "${ways[@]}"; do
    t "${way/_/ }: ${#statuses[@]} statuses are the harness's" all_statuses "$way"
    t "${way/_/ }: ${#signals[@]} signals are the harness's" all_signals "$way"
done

time_limit() {
    harness --timeout 2s sleep 60
    faulted 124 timeout
}
# What the harness makes of the signal is not the reason for its end.
time_limit_caught() {
    harness --timeout 2s sh -c 'trap "exit 3" TERM; while :; do sleep 0.1; done'
    faulted 124 timeout
}
time_left() {
    harness --timeout 1m sh -c 'exit 6'
    ended 6
}
own_timeout() {
    harness timeout 1 sleep 9
    ended 124
}

t "--timeout ends the box with 124 and a fault line" time_limit
t "and does so when the harness makes something of the signal" time_limit_caught
t "a harness that ends before is left its status" time_left
t "an in-box timeout's 124 is the harness's" own_timeout

# grandchild WANT SCRIPT: the harness leaves something behind; the run is over
# with it.
grandchild() {
    local began=$SECONDS
    harness sh -c "$2"
    ended "$1" && [ $((SECONDS - began)) -lt 20 ]
}
t "a grandchild holds nothing" grandchild 4 'sleep 60 & exit 4'
t "nor does one in a session of its own" grandchild 5 'setsid sh -c "sleep 60; exit 9" & sleep 0.2; exit 5'
t "nor one that ignores signals" grandchild 139 'setsid sh -c "trap \"\" HUP INT TERM; sleep 60" & sleep 0.2; ulimit -c 0; kill -SEGV $$; sleep 9'
t "nor one that writes without end" grandchild 7 'setsid yes & sleep 0.2; exit 7'
t "nor does one that ends later change the status" grandchild 0 'setsid sh -c "sleep 0.1; exit 9" & exit 0'
t "no box is left" no_box
finish
