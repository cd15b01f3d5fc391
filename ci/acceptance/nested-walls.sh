#!/usr/bin/env bash
# The wall around a box with an engine inside: attacks from the harness, from a
# command that enters the box as cage exec does, and from a nested container that
# is given everything it can be, for root and for an ordinary user. Each attack
# must have been tried, and be refused by the kernel; each succeeds where the
# wall is taken away.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

if [ "$(id -u)" != 0 ]; then
    skip "attacks on the host" "only root can look at what they would reach"
    finish
    exit
fi

t "the launcher is built" tool toy-box
toy=$tools/toy-box
cage=$root/bin/cage
project=$(new_project) && chmod 0755 "$project"
echo secret >"$scratch/marker" && chmod 0600 "$scratch/marker"
disk=$(lsblk -rno MAJ:MIN,TYPE | awk '$2 == "disk" { print $1; exit }')

# On the kernel, which is the host's.
kernel=(core_pattern sysrq uevent_helper release_agent cgroup_limit disk kcore keyring module host_file other_box)
# On what is in the box, and not the session's.
inside=(pid1 lifeline)
engine=(engine engine_memory engine_data engine_run)
program=(engine_program)

attack() { printf '%s ' python3 "$project/attack.py" "$disk" "$scratch/marker" "$@"; }

prepare() {
    cp "$root/ci/acceptance/nested/attack.py" "$project/" || return
    local fs=$scratch/busybox name
    mkdir -p "$fs/bin" "$fs/tmp" "$fs/etc" "$fs/usr" && cp "$(command -v busybox)" "$fs/bin/busybox" || return
    for name in $("$fs/bin/busybox" --list); do [ "$name" = busybox ] || ln -s busybox "$fs/bin/$name"; done
    # With the box's /usr it has the box's programs.
    ln -s usr/lib "$fs/lib" && ln -s usr/lib64 "$fs/lib64" && tar -C "$fs" -c . >"$project/image.tar"
}

other_box=walls-other-$$
start_other() {
    local elsewhere
    elsewhere=$(new_project)
    (cd "$elsewhere" && exec "$toy" --engine none --name "$other_box" --exec sh -c 'sleep 1000; exit' marker-of-another-box) >"$scratch/other.log" 2>&1 &
    at_exit docker rm -f "$other_box"
    until_runs "$other_box"
}

until_runs() {
    local tries=0
    until docker exec "$1" sh -c 'test -s /run/agent-cage/harness' 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 150 ] || return 1
        sleep 0.2
    done
}

# open_wall FILE COMMAND: without the wall the attacks succeed. Those that this
# machine refuses to its root as well, or has nothing for, prove nothing here.
absent=' '
open_wall() {
    "${@:2}" >"$1" 2>&1
    cat "$1"
    absent+=$(awk '$1 != "done" { printf "%s ", $2 }' "$1")
    [ "$(grep -c '^done ' "$1")" -ge "$least" ]
}

# walled FILE NAME: that attack was tried and is refused by the kernel.
walled() {
    grep -E " $2( |\$)" "$1" || { tail -n 20 "$1"; return 1; }
    grep -qE "^refused $2 (EPERM|EACCES|EROFS|ENOSYS|ESRCH|ENOENT)\$" "$1"
}

# walls WHO FROM FILE NAME...: a check for each attack.
walls() {
    local who=$1 from=$2 file=$3 name
    shift 3
    for name in "$@"; do
        if [[ $absent == *" $name "* ]]; then
            skip "$who, from $from: $name" "this machine has nothing of that kind, or refuses it to root, too"
        else
            t "$who, from $from: $name" walled "$file" "$name"
        fi
    done
}

t "what is attacked with is made" prepare
t "another box runs" start_other
least=7
t "without the wall, the attacks on the kernel succeed" open_wall "$scratch/control" sh -c "$(attack "${kernel[@]}")"

# session WHO POSTURE: a box that lasts, and what its harness's attacks came to.
session() {
    local name=walls-$1-$2-$$
    rm -f "$project"/up "$project"/done "$project"/*.said
    cat >"$project/session.sh" <<SESSION
# The lifeline comes soon after the session.
sleep 1.5
$(attack "${kernel[@]}" "${inside[@]}") >harness.said 2>&1
if [ $2 = rootless ]; then
    docker import image.tar nested >/dev/null && docker ps >/dev/null
    $(attack "${engine[@]}" "${program[@]}") >>harness.said 2>&1
    docker run --rm --cap-add ALL --security-opt seccomp=unconfined --security-opt systempaths=unconfined \\
        --pid host --network host --ipc host --uts host -v /usr:/usr:ro -v "$project:$project" nested /bin/busybox env PATH=/usr/bin:/bin \\
        $(attack "${kernel[@]}" "${inside[@]}" engine engine_memory) >nested.said 2>&1
    docker run --rm --privileged -v /usr:/usr:ro -v "$project:$project" nested /bin/busybox true >privileged.said 2>&1
    echo "status \$?" >>privileged.said
fi
touch up
while [ ! -e done ]; do sleep 0.2; done
SESSION
    chmod -R a+rwX "$project"
    at_exit docker rm -f "$name"
    (cd "$project" && as "$1" --engine "$2" --engine-cache=off --name "$name" --exec bash session.sh) >"$scratch/log" 2>&1 &
    local tries=0
    until [ -e "$project/up" ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { cat "$scratch/log"; return 1; }
        sleep 0.2
    done
    mkdir -p "$scratch/$1-$2" && cp "$project"/*.said "$scratch/$1-$2/"
    DOCKER_HOST=unix://$engine_socket as_cage "$1" exec "$name" sh -c "$(attack "${kernel[@]}" "${inside[@]}")" >"$scratch/$1-$2/exec.said" 2>&1
}

as() {
    local who=$1
    shift
    if [ "$who" = root ]; then
        "$toy" "$@"
    else
        runuser -u "$user" -- env -i PATH="$scratch/prefix/bin:/usr/bin:/bin" HOME="$scratch/users/$user" DOCKER_HOST="unix://$engine_socket" \
            ${SSL_CERT_FILE:+SSL_CERT_FILE="$SSL_CERT_FILE"} "$scratch/prefix/bin/toy-box" "$@"
    fi
}
as_cage() {
    local who=$1
    shift
    if [ "$who" = root ]; then
        "$cage" "$@"
    else
        runuser -u "$user" -- env -i PATH=/usr/bin:/bin HOME="$scratch/users/$user" DOCKER_HOST="unix://$engine_socket" "$scratch/prefix/bin/cage" "$@"
    fi
}

end_session() {
    touch "$project/done"
    wait -n 2>/dev/null
    docker rm -f "walls-$1-$2-$$" >/dev/null 2>&1
}

# A process of the host's root that enters the box; one that is the harness's
# user, without its user namespace; and one that is of the engine's group.
opened() {
    local least=4
    open_wall "$scratch/opened" nsenter --target "$(docker inspect --format '{{.State.Pid}}' "walls-$1-rootless-$$")" --mount --pid \
        sh -c "$(attack "${inside[@]}" engine engine_memory)"
}
opened_user() {
    local least=2
    open_wall "$scratch/opened" docker exec -u 1000 "walls-root-rootless-$$" sh -c "$(attack engine engine_memory)"
}
opened_group() {
    local least=2
    open_wall "$scratch/opened" docker exec -u 0 "walls-root-rootless-$$" setpriv --reuid 1000 --regid 1000 --groups 65532 sh -c "$(attack engine_data engine_run)"
}

user=cage-walls-$$
make_user() {
    local group
    group=$(stat -c %g "$engine_socket") || return
    mkdir -p "$scratch/users" && chmod 0755 "$scratch/users"
    useradd --create-home --home-dir "$scratch/users/$user" --shell /bin/sh "$user" || return
    at_exit userdel "$user"
    [ "$group" = 0 ] || usermod -aG "$(getent group "$group" | cut -d: -f1)" "$user" || return
    make -s -C "$root" install PREFIX="$scratch/prefix" && install -m 0755 "$toy" "$scratch/prefix/bin/toy-box" && chmod -R a+rX "$scratch/prefix"
}
t "an ordinary user is made" make_user

for who in root user; do
    t "$who: a session without an engine attacks" session $who none
    walls "$who, none" "the harness" "$scratch/$who-none/harness.said" "${kernel[@]}" "${inside[@]}"
    walls "$who, none" "cage exec" "$scratch/$who-none/exec.said" "${kernel[@]}" "${inside[@]}"
    end_session $who none
    t "$who: a session with one attacks" session $who rootless
    walls "$who" "the harness" "$scratch/$who-rootless/harness.said" "${kernel[@]}" "${inside[@]}" "${engine[@]}" "${program[@]}"
    walls "$who" "a nested container" "$scratch/$who-rootless/nested.said" "${kernel[@]}" "${inside[@]}" engine engine_memory
    walls "$who" "cage exec" "$scratch/$who-rootless/exec.said" "${kernel[@]}" "${inside[@]}"
    t "$who: a privileged nested container does not start" grep -q 'status 1' "$scratch/$who-rootless/privileged.said"
    t "$who: with the privileges of root, the attacks on the box succeed" opened $who
    if [ $who = root ]; then
        t "the engine is open to its user outside of the harness's namespace" opened_user
        t "and its directories to its group" opened_group
    fi
    end_session $who rootless
done
finish
