#!/usr/bin/env bash
# The command cage against a real engine: ps, stop, gc, doctor, receipts and
# completions. Boxes are imitated by containers with the labels of one, so that
# their launchers can be in every state that a process can be in.
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

cage=$root/bin/cage
export XDG_STATE_HOME=$scratch/state
prefix=cage-admin-$$
label=dev.agent-cage

machine_id=$(cat /etc/machine-id /var/lib/dbus/machine-id 2>/dev/null | head -n 1)
machine=$(printf agent-cage | openssl dgst -sha256 -hmac "$machine_id" | sed 's/.* //' | cut -c1-32)
boot=$(cat /proc/sys/kernel/random/boot_id)
pidns=$(stat -Lc %i /proc/self/ns/pid)

# start_of PID: field 22 of its stat.
start_of() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f20; }

remove_imitations() { docker ps -aq --filter "name=$prefix" | xargs -r docker rm -f; }
at_exit remove_imitations

sleep 1000 &
alive_pid=$!
at_exit kill "$alive_pid"
alive_start=$(start_of "$alive_pid")
# A pid that was this shell's child and is nobody's now.
sleep 0 &
dead_pid=$!
wait "$dead_pid"

# imitate VERB NAME PID START [OPTION...]: a container that looks like a box.
imitate() {
    local verb=$1 name=$prefix-$2 pid=$3 start=$4
    shift 4
    local detach=()
    [ "$verb" = create ] || detach=(-d)
    docker "$verb" ${detach[@]+"${detach[@]}"} --name "$name" --init --network none --log-driver none \
        --label $label.kind=box --label $label.launcher=claude-box --label "$label.project=$scratch" --label $label.posture=none \
        --label "$label.launcher.machine=$machine" --label "$label.launcher.boot=$boot" --label "$label.launcher.pidns=$pidns" \
        --label "$label.launcher.uid=$(id -u)" --label "$label.launcher.pid=$pid" --label "$label.launcher.start=$start" \
        "$@" debian:trixie-slim sleep 1000 >/dev/null
}

# shows COMMAND...: what cage prints of the imitations, sorted, names only.
names() { "$cage" ps --json | sed -n "s/.*\"name\": \"$prefix-\(.*\)\",/\1/p" | sort | paste -sd' '; }

exists() { docker inspect "$prefix-$1" >/dev/null 2>&1; }
running() { is true "$(docker inspect -f '{{.State.Running}}' "$prefix-$1")"; }

# A user who is no root, has no boxes and may use the socket.
other_uid=54322
may_be_other=''
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && [ "$(stat -c %g "$engine_socket" 2>/dev/null || echo 0)" != 0 ]; then
    may_be_other=1
    mkdir "$scratch/user" "$scratch/libexec" && chown $other_uid "$scratch/user" && chmod 0755 "$scratch/libexec"
    install -m 0755 "$cage" "$scratch/cage"
    install -m 0755 "$root"/libexec/* "$scratch/libexec/"
fi
as_other() {
    (
        cd / && exec setpriv --reuid $other_uid --regid $other_uid --groups "$(stat -c %g "$engine_socket")" \
            --inh-caps=-all --bounding-set=-all --no-new-privs \
            env -u DOCKER_CONFIG HOME="$scratch/user" XDG_STATE_HOME="$scratch/user/state" AGENT_CAGE_LIBEXEC="$scratch/libexec" "$scratch/cage" "$@"
    )
}
# with_other NAME COMMAND: a check that needs that user.
with_other() {
    if [ -n "$may_be_other" ]; then t "$1" "$2"; else skip "$1" "only root can become another user, with setpriv and a socket that has a group"; fi
}

make_crowd() {
    imitate run alive "$alive_pid" "$alive_start" &&
        imitate run dead-running "$dead_pid" 1 &&
        imitate create dead-created "$dead_pid" 1 &&
        imitate create reused-pid "$alive_pid" 1 &&
        imitate run others-user "$dead_pid" 1 --label "$label.launcher.uid=54321" &&
        imitate run others-machine "$dead_pid" 1 --label "$label.launcher.machine=0123456789abcdef0123456789abcdef" &&
        imitate run others-namespace "$dead_pid" 1 --label "$label.launcher.pidns=1" &&
        imitate run clone "$dead_pid" 1 --label "$label.launcher.boot=00000000-0000-0000-0000-000000000000" &&
        docker run -d --name "$prefix-stranger" --network none debian:trixie-slim sleep 1000
}
t "boxes are imitated" make_crowd

mine="alive clone dead-created dead-running others-namespace reused-pid"
own_boxes_only() {
    is "$mine" "$(names)" || return
    "$cage" ps
}
t "ps lists the caller's boxes of this machine and no others" own_boxes_only

# A launcher behind sudo marks the boxes of a user's project as that user's.
behind_sudo() {
    (
        names() { SUDO_UID=54321 "$cage" ps --json | sed -n "s/.*\"name\": \"$prefix-\(.*\)\",/\1/p" | sort | paste -sd' '; }
        is "alive clone dead-created dead-running others-namespace others-user reused-pid" "$(names)"
    )
}
if [ "$(id -u)" = 0 ]; then
    t "behind sudo also those of the user who called it" behind_sudo
else
    skip "behind sudo also those of the user who called it" "only root is what sudo makes"
fi

# verdict NAME: what ps says of the launcher.
verdict() { "$cage" ps | sed -n "s/^$prefix-$1  *.* \(alive\|dead\|unknown\) (pid [0-9]*)$/\1/p"; }
verdicts() {
    is alive "$(verdict alive)" && is dead "$(verdict dead-running)" && is dead "$(verdict dead-created)" &&
        is dead "$(verdict reused-pid)" && is unknown "$(verdict others-namespace)" && is unknown "$(verdict clone)"
}
t "ps tells living launchers from dead ones and from those it cannot see" verdicts

suspended() {
    kill -STOP "$alive_pid"
    local got
    got=$(verdict alive)
    kill -CONT "$alive_pid"
    is alive "$got"
}
t "a suspended launcher is alive" suspended

doctor_counts_orphans() {
    "$cage" doctor >"$scratch/doctor"
    cat "$scratch/doctor"
    grep -q '^note  *orphans  *3 boxes' "$scratch/doctor"
}
t "doctor counts the orphans" doctor_counts_orphans

gc_only_says() {
    "$cage" gc >"$scratch/gc" && cat "$scratch/gc" &&
        grep -q "would be removed: 3 boxes" "$scratch/gc" && is "$mine" "$(names)"
}
t "gc removes nothing without --yes" gc_only_says

gc_removes() {
    "$cage" gc --yes && is "alive clone others-namespace" "$(names)" &&
        running alive && running others-user && running others-machine && running clone && running others-namespace && running stranger
}
t "gc --yes removes the boxes of dead launchers and no other" gc_removes

stop_refuses() {
    not "$cage" stop "$prefix-others-user" 2>"$scratch/err" && grep -q "no box of yours" "$scratch/err" &&
        not "$cage" stop "$prefix-stranger" 2>/dev/null &&
        not "$cage" stop 2>/dev/null && running others-user && running stranger
}
t "stop does not touch what is not the caller's" stop_refuses

stop_leaves_removal() {
    is "$prefix-alive" "$("$cage" stop "$prefix-alive")" && not running alive && exists alive &&
        is 143 "$(docker inspect -f '{{.State.ExitCode}}' "$prefix-alive")"
}
t "stop sends SIGTERM and leaves the removal to a living launcher" stop_leaves_removal

stop_kills() {
    # shellcheck disable=SC2046 # the labels of another box, none of which has a blank
    docker run -d --name "$prefix-stubborn" --network none --log-driver none $(docker inspect -f '{{range $k, $v := .Config.Labels}}--label {{$k}}={{$v}} {{end}}' "$prefix-alive") \
        debian:trixie-slim sh -c 'trap "" TERM; while :; do sleep 0.1; done' >/dev/null || return
    local began=$SECONDS
    "$cage" stop --time 1s "$prefix-stubborn" || return
    not running stubborn && [ $((SECONDS - began)) -le 5 ]
}
t "stop kills what ignores SIGTERM after the time" stop_kills

# As a user whose only boxes are these: others' may be at work here.
stop_all() {
    local owner=(--label "$label.launcher.uid=$other_uid")
    imitate run one "$alive_pid" "$alive_start" "${owner[@]}" && imitate run two "$dead_pid" 1 "${owner[@]}" &&
        imitate create three "$dead_pid" 1 "${owner[@]}" || return
    as_other stop --all --time 1s || return
    not running one && not exists two && not exists three &&
        running clone && running others-user && running others-machine && running stranger && docker rm -f "$prefix-one"
}
with_other "stop --all ends the caller's boxes and no others" stop_all

# A name file that a dead launcher left goes with its box.
gc_name_file() {
    printf '%s\n' "$prefix-named" >"$scratch/name" && printf 'another-box\n' >"$scratch/taken" || return
    imitate create named "$dead_pid" 1 --label "$label.launcher.name-file=$scratch/name" &&
        imitate create taken "$dead_pid" 1 --label "$label.launcher.name-file=$scratch/taken" &&
        "$cage" gc --yes && not exists named && not exists taken && [ ! -e "$scratch/name" ] && [ -e "$scratch/taken" ]
}
t "the name file of a removed box is removed, another box's is kept" gc_name_file

# volume NAME [OPTION...]: one that belongs to boxes of this user.
volume() {
    local name=$prefix-$1
    shift
    docker volume create --label $label.kind=engine-cache --label "$label.launcher.machine=$machine" --label "$label.launcher.uid=$(id -u)" "$@" "$name" &&
        at_exit docker volume rm -f "$name"
}
gc_volume() {
    volume gone --label "$label.project=$scratch/gone" && volume kept --label "$label.project=$scratch" &&
        volume used --label "$label.project=$scratch/gone" && docker run -d --name "$prefix-uses" -v "$prefix-used:/x" --network none debian:trixie-slim sleep 1000 &&
        volume others --label "$label.project=$scratch/gone" --label "$label.launcher.uid=54321" || return
    "$cage" gc >"$scratch/gc" && cat "$scratch/gc" && grep -q "^volume  *$prefix-gone (engine-cache, $scratch/gone is gone)" "$scratch/gc" &&
        not grep -q -e "$prefix-kept" -e "$prefix-others" "$scratch/gc" && "$cage" gc --yes >"$scratch/gc" &&
        grep -q "kept: volume $prefix-used is in use" "$scratch/gc" &&
        is "$prefix-kept $prefix-others $prefix-used" "$(docker volume ls -q --filter "name=$prefix" | sort | paste -sd' ')"
}
t "gc removes volumes of projects that are gone, and no others" gc_volume

# A build that was replaced: an image with our label and without a name.
gc_image() {
    local old new
    docker create --name "$prefix-parent" debian:trixie-slim true >/dev/null &&
        old=$(docker commit -c "LABEL $label.kind=build" -c "LABEL test=$prefix-old" "$prefix-parent" "$prefix") &&
        new=$(docker commit -c "LABEL $label.kind=build" -c "LABEL test=$prefix-new" "$prefix-parent" "$prefix") || return
    at_exit docker image rm -f "$prefix"
    not is "$old" "$new" || return
    "$cage" gc | tee "$scratch/gc" && grep -q "${old:7:12}" "$scratch/gc" && not grep -q "${new:7:12}" "$scratch/gc" || return
    "$cage" gc --yes && not docker image inspect "$old" && docker image inspect "$new"
}
t "gc removes replaced images and keeps current ones" gc_image

doctor_json() {
    "$cage" doctor --json >"$scratch/doctor.json"
    local status=$?
    cat "$scratch/doctor.json"
    local code
    for code in endpoint engine api clock kernel cgroup apparmor seccomp userns idmap disk-home ca proxy binaries images \
        login-claude-box login-codex-box orphans; do
        grep -q "\"code\": \"$code\"" "$scratch/doctor.json" || { echo "no $code"; return 1; }
    done
    if grep -q '"severity": "problem"' "$scratch/doctor.json"; then is 1 $status; else is 0 $status; fi
}
t "doctor --json has every code, and its status says whether there is a problem" doctor_json

doctor_lost_engine() {
    local status=0
    DOCKER_HOST=unix://$scratch/none.sock "$cage" doctor >"$scratch/doctor" || status=$?
    cat "$scratch/doctor"
    is 1 $status && grep -q '^problem  *engine ' "$scratch/doctor" && grep -q 'fix: start the engine' "$scratch/doctor"
}
t "doctor without an engine says so and how to start it" doctor_lost_engine

doctor_no_secret() {
    HTTPS_PROXY=http://user:s3cret-of-the-proxy@127.0.0.1:1 "$cage" doctor >"$scratch/doctor"
    cat "$scratch/doctor"
    grep -q '^warning  *proxy' "$scratch/doctor" && not grep -q -e s3cret -e "$ANTHROPIC_API_KEY" "$scratch/doctor"
}
t "doctor repeats no secret" doctor_no_secret

no_receipts() { is "removed: 0 receipts (0B)" "$("$cage" receipts prune)" && "$cage" receipts list; }
t "receipts of a user without any" no_receipts

completions() {
    "$cage" completion bash >"$scratch/bash" && bash -n "$scratch/bash" && "$cage" completion zsh | has compdef &&
        "$cage" completion fish | has '^complete' || return
    imitate create offered "$alive_pid" "$alive_start" && "$cage" __complete stop '' | has -x "$prefix-offered"
}
hung_engine() {
    local pid began=$SECONDS
    tool faulty-engine || return
    "$tools/faulty-engine" --listen "$scratch/hung.sock" --engine "$engine_socket" --log "$scratch/hung.log" --rule "GET / delay 100s" --rule "HEAD / delay 100s" &
    pid=$!
    appears "$scratch/hung.sock" && not env DOCKER_HOST="unix://$scratch/hung.sock" timeout 60 "$cage" ps 2>"$scratch/err"
    kill $pid
    wait $pid 2>/dev/null
    grep -q "the engine does not answer within" "$scratch/err" && [ $((SECONDS - began)) -lt 50 ]
}
odd_settings() {
    not env HOME=relative "$cage" receipts list 2>"$scratch/err" && grep -q HOME "$scratch/err" &&
        (cd "$scratch/empty" && XDG_STATE_HOME=relative "$cage" receipts prune --older-than 0) && is '' "$(ls -A "$scratch/empty")" &&
        not "$cage" gc --receipts-older-than=-1h 2>/dev/null && not "$cage" receipts nonsense 2>/dev/null && not "$cage" ps >/dev/full 2>/dev/null
}
mkdir "$scratch/empty"
t "an engine that does not answer is not waited for without end" hung_engine
t "settings and arguments that make no sense" odd_settings

t "completions for bash, zsh and fish, with the names of boxes" completions

ordinary_user() {
    imitate run theirs "$dead_pid" 1 --label "$label.launcher.uid=$other_uid" &&
        as_other ps && is "$prefix-theirs" "$(as_other ps --json | sed -n 's/.*"name": "\(.*\)",/\1/p')" &&
        as_other gc --yes && not exists theirs && running others-user && exists offered && as_other receipts list || return
    as_other doctor >"$scratch/doctor"
    cat "$scratch/doctor"
    grep -q '^ok  *engine ' "$scratch/doctor" && grep -q '^ok  *userns ' "$scratch/doctor" && grep -q '^ok  *idmap  *not needed' "$scratch/doctor"
}
with_other "an ordinary user has all of it, and sees nothing of root's" ordinary_user

finish
