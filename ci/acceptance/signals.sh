#!/usr/bin/env bash
# A signal to a launcher without a terminal is the harness's: it is that very
# signal, what the harness makes of it is the status, and a harness that makes
# nothing of it has its time before the box is ended. FULL=1 tries each case in
# every way.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

project=$(new_project)
signals=(INT TERM HUP QUIT)
# The launcher's own, and the slack of a busy machine.
grace=10 slack=8

# The ways in which a launcher is run, in a folder: it begins with the actions
# that a login shell would give it, and notes its process id.
begin='echo $$ >launcher.pid; exec env --default-signal=INT,QUIT,HUP,TERM "$@"'
files() { (cd "$1" && shift && exec sh -c "$begin" sh "$box" --engine none --exec "$@") </dev/null >"$1/out" 2>"$1/err"; }
# The writer of stdin outlives the launcher.
pipes() {
    mkfifo "$1/in" || return
    {
        {
            (cd "$1" && shift && exec sh -c "$begin" sh "$box" --engine none --exec "$@") 2>&1 >&3 8>&- <"$1/in" | cat >"$1/err"
            exit "${PIPESTATUS[0]}"
        } 3>&1 8<>"$1/in" | cat >"$1/out"
        exit "${PIPESTATUS[0]}"
    }
}
ordinary_user() { (cd "$1" && shift && as_user sh -c "$begin" sh "$user_box" --engine none --exec "$@") </dev/null >"$1/out" 2>"$1/err"; }
with_nohup() { (cd "$1" && shift && exec nohup sh -c 'echo $$ >launcher.pid; exec "$@"' sh "$box" --engine none --exec "$@") </dev/null >"$1/out" 2>"$1/err"; }

# folder WAY: a new project for it.
folder() {
    case $1 in
    ordinary_user) runuser -u "$user" -- mktemp -d "$user_project/XXXXXX" ;;
    *) new_project ;;
    esac
}

# one WAY SIGNALS WANT FROM TO SCRIPT: launches a script that makes a file named
# ready, sends the signals half a second apart, and notes what is wrong: the
# status, an end sooner or later than that after the first, an output that is
# not the word "end", a fault line, a box that is left.
one() {
    local way=$1 sent=$2 want=$3 from=$4 to=$5 script=$6 got=0 began took signal
    local project
    project=$(folder "$way")
    "$way" "$project" sh -c "$script" &
    if ! appears "$project/ready"; then
        echo "$way, $script: not started: $(cat "$project/err")" >>"$scratch/wrong"
        return
    fi
    began=$(date +%s)
    for signal in ${sent//,/ }; do
        kill "-$signal" "$(cat "$project/launcher.pid")"
        sleep 0.5
    done
    wait $! || got=$?
    took=$(($(date +%s) - began))
    [ "$got" = "$want" ] || echo "$way, $sent, $script: want $want, got $got" >>"$scratch/wrong"
    [ $took -ge "$from" ] && [ $took -le "$to" ] || echo "$way, $sent, $script: ended after $took s" >>"$scratch/wrong"
    [ "$(cat "$project/out")" = end ] || echo "$way, $sent, $script: said $(cat "$project/out")" >>"$scratch/wrong"
    ! grep fault= "$project/err" >>"$scratch/wrong"
    no_box || echo "$way, $sent, $script: a box is left" >>"$scratch/wrong"
}

# several: reads lines WAY SIGNALS WANT FROM TO SCRIPT and tries them, some at
# a time.
at_once=4
several() {
    local way sent want from to script tried=0
    : >"$scratch/wrong"
    while read -r way sent want from to script; do
        [ "$(jobs -rp | wc -l)" -lt $at_once ] || wait -n
        one "$way" "$sent" "$want" "$from" "$to" "$script" </dev/null &
        tried=$((tried + 1))
    done
    wait
    echo "$tried tried"
    cat "$scratch/wrong"
    [ ! -s "$scratch/wrong" ] && [ $tried -gt 0 ]
}

# Only the signal that was sent gives the status that is wanted.
caught='trap "echo end; exit 21" INT; trap "echo end; exit 22" TERM; trap "echo end; exit 23" HUP; trap "echo end; exit 24" QUIT; touch ready; while :; do sleep 0.1; done'
untouched='ulimit -c 0; echo end; touch ready; exec sleep 60'
each_signal() {
    local signal n=20
    for signal in "${signals[@]}"; do
        n=$((n + 1))
        echo "$1 $signal $n 0 $slack $caught"
        if [ "$1" = files ] || [ "${FULL:-}" = 1 ]; then
            echo "$1 $signal $((128 + $(kill -l "$signal"))) 0 $slack $untouched"
        fi
    done | several
}

t "the image is there" in_box "$project" true
ways=(files pipes)
if [ "$(id -u)" = 0 ]; then
    t "an ordinary user is made" make_user
    ways+=(ordinary_user)
else
    skip "an ordinary user" "only root can make one"
fi
for way in "${ways[@]}"; do
    t "${way/_/ }: ${signals[*]} are the harness's, and so is the status" each_signal "$way"
done

slow='trap "sleep 3; echo end; exit 9" TERM; touch ready; while :; do sleep 0.1; done'
deaf='trap "" INT TERM HUP QUIT; echo end; touch ready; while :; do sleep 0.1; done'
patience() {
    several <<-END
		files TERM 9 3 $((3 + slack)) $slow
		files TERM 137 $grace $((grace + slack)) $deaf
		pipes INT 137 $grace $((grace + slack)) $deaf
		files TERM,TERM 137 0 $((grace - 1)) $deaf
		files INT,TERM 137 0 $((grace - 1)) $deaf
		pipes HUP,QUIT 137 0 $((grace - 1)) $deaf
	END
}
# A child of the harness is the harness's to tell.
others() {
    several <<-END
		files TERM 143 0 $slack (trap 'echo told' TERM; while :; do sleep 0.1; done) & $untouched
		with_nohup HUP 7 2 $((3 + slack)) touch ready; sleep 3; echo end; exit 7
	END
}
t "a harness has its time, then the box is ended; a second signal hastens it" patience
t "nobody but the harness is told, and no hangup that the caller ignores" others

# A state that is copied in the middle of a write is torn, so none is: not
# while the box runs, and not before it is ended.
nothing_copied() {
    local pid status=0 ready=$project/ready
    rm -f "$ready" "$scratch/watched.sock"
    tool faulty-engine || return
    "$tools/faulty-engine" --listen "$scratch/watched.sock" --engine "$engine_socket" --log "$scratch/watched.log" --rule "GET /none lose" &
    at_exit kill $!
    appears "$scratch/watched.sock" || return
    (cd "$project" && DOCKER_HOST=unix://$scratch/watched.sock exec "$box" --engine none --exec sh -c 'trap "" TERM; touch ready; while :; do sleep 0.1; done') \
        </dev/null >"$scratch/out" 2>"$scratch/err" &
    pid=$!
    appears "$ready" && kill -TERM $pid && sleep 1 && kill -TERM $pid || return
    wait $pid || status=$?
    cat "$scratch/watched.log"
    ended 137 && grep -q 'POST /containers/.*/kill' "$scratch/watched.log" && not grep -E '/archive|/export|/commit|/copy' "$scratch/watched.log"
}
t "nothing is copied out of a box that is ended" nothing_copied

# While the box is removed, the status is decided.
too_late() {
    local pid status=0
    rm -f "$scratch/faulty.sock"
    tool faulty-engine || return
    "$tools/faulty-engine" --listen "$scratch/faulty.sock" --engine "$engine_socket" --log "$scratch/faulty.log" --rule "DELETE /containers/ delay 3s" &
    at_exit kill $!
    appears "$scratch/faulty.sock" || return
    (cd "$project" && DOCKER_HOST=unix://$scratch/faulty.sock exec "$box" --engine none --exec sh -c 'exit 5') >"$scratch/out" 2>"$scratch/err" &
    pid=$!
    until grep -q DELETE "$scratch/faulty.log" 2>/dev/null; do
        sleep 0.1
        kill -0 $pid || return
    done
    kill -TERM $pid
    wait $pid || status=$?
    ended 5 && no_box_within 5
}
t "a signal after the end changes nothing" too_late

# timeout(1) sends its signal to the program, and again to its group.
grace_of_timeout() {
    launch timeout 6 "$box" --engine none --exec sh -c 'trap "sleep 2; echo bye; exit 9" TERM; while :; do sleep 0.1; done'
    is "124 bye" "$status $(cat "$scratch/out")"
}
t "a signal that comes twice at once is one" grace_of_timeout

# A box that ends itself, because its launcher did not run, is not the harness's end.
stopped_too_long() {
    rm -f "$project/ready"
    (cd "$project" && exec "$box" --engine none --exec sh -c 'touch ready; sleep 30; exit 5') </dev/null >"$scratch/out" 2>"$scratch/err" &
    local pid=$!
    status=0
    appears "$project/ready" && kill -STOP $pid && sleep 9 && kill -CONT $pid || return
    wait $pid || status=$?
    # On a busy machine the lifeline may have been there before the stop.
    [ "$status" = 5 ] || faulted 126 engine-lost "stopped"
}
t "a launcher that is stopped before it holds the box says what became of it" stopped_too_long
finish
