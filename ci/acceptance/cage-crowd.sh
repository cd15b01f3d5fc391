#!/usr/bin/env bash
# Many launches leave nothing behind, neither on this machine nor in the
# engine, and users of one engine do not see each other's boxes, nor remove
# them. FULL=1 launches 100 boxes instead of 12.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

cage=$root/bin/cage
batches=3 batch=4
[ "${FULL:-}" != 1 ] || batches=10 batch=10
export XDG_STATE_HOME=$scratch/state
project=$(new_project)
at_exit remove_boxes
t "the image is there" in_box "$project" true

## What launches leave.
volumes() { docker volume ls -q | sort; }
# files: all but receipts, of which each run leaves one.
files() { find "$scratch" -path '*/receipts/*.json' -prune -o ! -path "$scratch/check.log" ! -path "$scratch/*.txt" -print | sort; }
# dockerd: the process that listens, if it may be known.
dockerd() {
    local inode
    inode=$(awk -v path="$engine_socket" '$8 == path && $4 == "00010000" { print $7 }' /proc/net/unix) && [ -n "$inode" ] || return
    find /proc/[0-9]*/fd -lname "socket:\[$inode\]" 2>/dev/null | cut -d/ -f3 | while read -r pid; do
        ! grep -qx dockerd "/proc/$pid/comm" || echo "$pid"
    done | head -n 1
}
# engine: its memory in KiB, goroutines, and descriptors.
engine() {
    local pid
    pid=$(dockerd)
    echo "$(awk '/^VmRSS/ { print $2 }' "/proc/${pid:-none}/status" 2>/dev/null || echo 0) $(docker info -f '{{.NGoroutines}} {{.NFd}}')"
}
# flat BEFORE AFTER: not more than so many KiB, goroutines, descriptors more.
flat() {
    awk -v before="$1" -v after="$2" 'BEGIN { split(before, b); split(after, a)
        exit !(a[1] - b[1] < 32 * 1024 && a[2] - b[2] < 10 && a[3] - b[3] < 10) }' || { echo "before: $1, after: $2"; return 1; }
}

# launch_batch: so many at once; each ends with its own status.
launch_batch() {
    local n pids=()
    for n in $(seq $batch); do
        in_box "$project" sh -c "exit $n" </dev/null >/dev/null 2>&1 &
        pids+=($!)
    done
    for n in $(seq $batch); do
        wait "${pids[n - 1]}"
        is "$n" $? || return
    done
}

in_batches() {
    launch_batch || return # what the first ones leave is kept for the next
    volumes >"$scratch/volumes.txt" && files >"$scratch/files.txt" || return
    before=$(engine)
    local n lock
    for n in $(seq $((batches - 1))); do launch_batch || return; done
    no_box && is "$(cat "$scratch/volumes.txt")" "$(volumes)" && is "$(cat "$scratch/files.txt")" "$(files)" || return
    for lock in "$XDG_STATE_HOME"/agent-cage/locks/*; do
        [ ! -e "$lock" ] || flock --nonblock "$lock" true || { echo "$lock is held"; return 1; }
    done
    # Connections that are not used any more are closed some time later.
    sleep 5
    after=$(engine)
    flat "$before" "$after"
}
t "$((batches * batch)) launches in batches leave no container, volume, lock or file, and the engine as it was" in_batches
echo "# the engine's KiB, goroutines, descriptors: ${before:-none}, afterwards ${after:-none}"

## Volumes of an image.
extend() {
    printf 'FROM claude-box\nVOLUME /data\n' >"$scratch/Dockerfile"
    launch "$box" --dockerfile "$scratch/Dockerfile" --engine none --exec sh -c 'grep -q " /data " /proc/self/mountinfo'
    at_exit sh -c 'docker image ls -q "claude-box-*" --filter label=dev.agent-cage.kind=build | xargs -r docker rmi -f'
    ended 0 && is "$(cat "$scratch/volumes.txt")" "$(volumes)"
}
t "the volume of an image goes with the box" extend

of_a_killed_launcher() {
    (cd "$project" && exec "$box" --dockerfile "$scratch/Dockerfile" --engine none --exec sh -c 'touch up; exec sleep 100' </dev/null >/dev/null 2>&1) &
    local launcher=$!
    appears "$project/up" && not is "$(cat "$scratch/volumes.txt")" "$(volumes)" && kill -9 $launcher && no_box_runs_within 8 &&
        in_box "$project" true && no_box && is "$(cat "$scratch/volumes.txt")" "$(volumes)"
}
t "also if its launcher was killed" of_a_killed_launcher

## Another user.
# as_them COMMAND...: in their project.
as_them() { (cd "$user_project" && as_user "$@"); }
# leave_dead WHO PROJECT LAUNCHER NAME: a box of a launcher that was killed.
leave_dead() {
    local who=$1 in=$2
    rm -f "$in/up"
    (cd "$in" && ${who:+as_user} sh -c 'echo $$ >pid; exec "$@"' sh "$3" --engine none --name "$4" --exec sh -c 'touch up; exec sleep 100' </dev/null >/dev/null 2>&1) &
    appears "$in/up" && sleep 1 && kill -9 "$(cat "$in/pid")" && project=$in no_box_runs_within 8
}
exists() { docker inspect -f '{{.Name}}' "$1"; }

two_users() {
    make_user && install -m 0755 "$cage" "$scratch/prefix/bin" && user_cage=$scratch/prefix/bin/cage || return
    rm -f "$project/up"
    (cd "$project" && exec "$box" --engine none --name "crowd-ours-$$" --exec sh -c 'touch up; exec sleep 100' </dev/null >/dev/null 2>&1) &
    ours=$!
    (as_them "$user_box" --engine none --name "crowd-theirs-$$" --exec sh -c 'touch up; exec sleep 100' </dev/null >/dev/null 2>&1) &
    theirs=$!
    appears "$project/up" && appears "$user_project/up"
}
names() { sed -n 's/^ *"name": "\(crowd-.*\)",/\1/p' | sort | paste -sd' '; }

see_their_own() {
    is "crowd-ours-$$" "$("$cage" ps --json | names)" && is "crowd-theirs-$$" "$(as_them "$user_cage" ps --json | names)" &&
        is 2 "$(docker ps --filter "name=crowd-.*-$$" -q | wc -l)"
}
stop_their_own() {
    not as_them "$user_cage" stop "crowd-ours-$$" && not as_them "$user_cage" exec "crowd-ours-$$" true && not "$cage" stop "crowd-theirs-$$" || return
    is "$(id -u "$user")" "$(as_them "$user_cage" exec "crowd-theirs-$$" id -u)" && as_them "$user_cage" stop --all && wait "$theirs"
    is 143 $? && exists "crowd-ours-$$" && not exists "crowd-theirs-$$"
}
reap_their_own() {
    "$cage" stop "crowd-ours-$$"
    wait "$ours"
    leave_dead '' "$project" "$box" "crowd-ours-dead-$$" && leave_dead them "$user_project" "$user_box" "crowd-theirs-dead-$$" || return
    # Each launch and each gc looks for what is dead.
    as_them "$user_cage" gc >"$scratch/gc.txt" && grep -q "crowd-theirs-dead-$$" "$scratch/gc.txt" && not grep -q "crowd-ours" "$scratch/gc.txt" &&
        in_box "$project" true && not exists "crowd-ours-dead-$$" && exists "crowd-theirs-dead-$$" || return
    leave_dead '' "$project" "$box" "crowd-ours-dead-$$" && as_them "$user_box" --engine none --exec true &&
        exists "crowd-ours-dead-$$" && not exists "crowd-theirs-dead-$$" || return
    leave_dead them "$user_project" "$user_box" "crowd-theirs-dead-$$" && as_them "$user_cage" gc --yes &&
        exists "crowd-ours-dead-$$" && not exists "crowd-theirs-dead-$$" && "$cage" gc --yes && not exists "crowd-ours-dead-$$"
}
doctor_of_a_user() {
    as_them "$user_cage" doctor
    [ $? -le 1 ] && as_them "$user_cage" receipts list >"$scratch/theirs.txt" && grep -q "$user_project" "$scratch/theirs.txt" &&
        "$cage" receipts list >"$scratch/ours.txt" && grep -q "$project" "$scratch/ours.txt" && not grep -q "$user_project" "$scratch/ours.txt"
}
if [ "$(id -u)" = 0 ]; then
    t "two users have a box each on one engine" two_users
    t "each sees the own one" see_their_own
    t "each stops and enters the own one" stop_their_own
    t "each removes what the own launchers left, and no more" reap_their_own
    t "a user has receipts and a doctor" doctor_of_a_user
else
    skip "two users of one engine" "only root can make another user"
fi
finish
