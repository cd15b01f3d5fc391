#!/usr/bin/env bash
# The container engine inside the box: what a session does with one, as root and
# as a user who may use the engine, and what it costs the box if it fails. The
# image that the nested containers are made from is made here.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

t "the launcher is built" tool toy-box
toy=$tools/toy-box
project=$(new_project) && chmod 0755 "$project"

# make_image DIR: a root file system of busybox, and the script that uses it.
make_image() {
    local fs=$scratch/busybox name
    if [ ! -d "$fs" ]; then
        mkdir -p "$fs/bin" "$fs/tmp" "$fs/etc" && cp "$(command -v busybox)" "$fs/bin/busybox" || return
        for name in $("$fs/bin/busybox" --list); do [ "$name" = busybox ] || ln -s busybox "$fs/bin/$name"; done
    fi
    mkdir -p "$1/given" && tar -C "$fs" -c . >"$1/given/image.tar" && cp "$root/ci/acceptance/nested/inside.sh" "$1/given/"
}

# as_root COMMAND...: toy-box with a rootless engine runs it in $project.
as_root() { (cd "$project" && exec "$toy" --engine rootless "$@"); }

user=cage-nested-$$
user_toy=$scratch/prefix/bin/toy-box
make_user() {
    local group
    group=$(stat -c %g "$engine_socket") || return
    mkdir -p "$scratch/users" && chmod 0755 "$scratch/users"
    useradd --create-home --home-dir "$scratch/users/$user" --shell /bin/sh "$user" || return
    at_exit userdel "$user"
    [ "$group" = 0 ] || usermod -aG "$(getent group "$group" | cut -d: -f1)" "$user" || return
    make -s -C "$root" install PREFIX="$scratch/prefix" && install -m 0755 "$toy" "$user_toy" && chmod -R a+rX "$scratch/prefix" || return
    user_project=$scratch/users/$user/project
    install -d -o "$user" -g "$user" "$user_project" && make_image "$user_project" && chown -R "$user:$user" "$user_project"
}

as_user() {
    (cd "$user_project" && exec runuser -u "$user" -- env -i PATH="$scratch/prefix/bin:/usr/local/bin:/usr/bin:/bin" \
        HOME="$scratch/users/$user" DOCKER_HOST="unix://$engine_socket" ${SSL_CERT_FILE:+SSL_CERT_FILE="$SSL_CERT_FILE"} \
        "$user_toy" --engine rootless "$@")
}

# What a box leaves of its engine is not the next test's.
forget() { docker volume ls -q --filter label=dev.agent-cage.kind=engine-cache --filter "label=dev.agent-cage.project=$1" | xargs -r docker volume rm; }

# session WHO DIRECTORY: a session that uses its engine for everything.
session() {
    at_exit forget "$2"
    "as_$1" --exec bash given/inside.sh "$2/given" >"$scratch/$1.tap" 2>"$scratch/err" || { cat "$scratch/err" "$scratch/$1.tap"; return 1; }
    [ -s "$scratch/$1.tap" ] || { cat "$scratch/err"; return 1; }
}

# did WHO: the lines of that session are checks.
did() {
    local line
    while read -r line; do
        # shellcheck disable=SC2001 # an expression
        t "$1: $(sed 's/^\(not \)\?ok \([^:]*\).*/\2/' <<<"$line")" said "$line"
    done <"$scratch/$1.tap"
}
said() {
    echo "$1"
    [[ $1 == ok\ * ]]
}

# in_engine COMMAND: root's session with the image loaded.
in_engine() { as_root "${options[@]}" --exec bash -c "docker import given/image.tar nested-busybox >/dev/null || exit 99; $1"; }
options=()

t "an image for nested containers" make_image "$project"
t "root: a session with its engine" session root "$project"
did root
t "root: what containers made is root's on the host" is '' "$(find "$project" ! -path "$project/given*" ! -uid 0 -printf '%P %U\n')"

warm() {
    is built "$(as_root --exec docker images --format '{{.Repository}}' built 2>/dev/null)"
}
t "the next box has the images" warm

# Two boxes of a project: the second starts empty, and says so. They do not see
# each other's containers.
apart() {
    rm -f "$project/up" "$project/done"
    as_root --exec sh -c 'docker run -d --name mine nested-busybox sleep 100 >/dev/null; touch up; while [ ! -e done ]; do sleep 0.1; done; docker ps --format "{{.Names}}"' >"$scratch/first" 2>&1 &
    local tries=0
    until [ -e "$project/up" ]; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || { cat "$scratch/first"; return 1; }
        sleep 0.1
    done
    as_root --exec sh -c 'docker ps -aq; docker images -q' >"$scratch/second" 2>"$scratch/err"
    touch "$project/done"
    wait
    cat "$scratch/first" "$scratch/err"
    is '' "$(cat "$scratch/second")" && grep -q 'WARNING: another box of this project has its images' "$scratch/err" && is mine "$(tail -n 1 "$scratch/first")"
}
t "two boxes do not see each other's containers" apart

forgetful() {
    is '' "$(as_root --engine-cache=off --exec docker images -q 2>/dev/null)" &&
        is '' "$(docker volume ls -q --filter dangling=true | grep -E '^[0-9a-f]{64}$' | xargs -r docker volume inspect --format '{{.Mountpoint}}' | xargs -r -I{} sh -c '[ ! -d {}/engine ] || echo {}')"
}
t "--engine-cache=off starts empty and leaves nothing" forgetful

asleep() {
    as_root --exec sh -c 'sleep 1; ps -e -o comm= | grep -E "rootlesskit|dockerd|containerd" && exit 1; exit 0' 2>"$scratch/err"
}
t "an engine that nobody asks for does not run" asleep
eager() {
    as_root --engine-start=eager --exec sh -c 'tries=0; until ps -e -o comm= | grep -q dockerd; do tries=$((tries+1)); [ $tries -lt 100 ] || exit 1; sleep 0.1; done'
}
t "--engine-start=eager starts it with the box" eager

# Its end is told at once to who waits, and the next one is another engine.
dies() {
    in_engine 'docker ps >/dev/null || exit 1
        pkill -KILL -f "^/usr/bin/rootlesskit" || exit 2
        sleep 0.5; docker ps 2>said || grep -q "died of signal SIGKILL" said || true
        sleep 3; docker ps >/dev/null'
}
t "an engine that was killed starts again" dies
broken() {
    local began=$SECONDS
    printf 'FROM agent-cage-toy\nRUN mkdir -p /etc/docker && echo "{ broken" >/etc/docker/daemon.json\n' >"$scratch/broken.Dockerfile"
    mkdir -p "$scratch/broken" && mv "$scratch/broken.Dockerfile" "$scratch/broken/Dockerfile"
    as_root --dockerfile "$scratch/broken/Dockerfile" --exec sh -c 'docker ps 2>said; status=$?; cat said >&2; [ $status != 0 ] && exit 5' >"$scratch/out" 2>"$scratch/err"
    is 5 $? && cat "$scratch/err" && grep -q 'the container engine of the box: it ended with status 1' "$scratch/err" &&
        grep -q 'daemon.json' "$scratch/err" && [ $((SECONDS - began)) -lt 30 ]
}
t "one that cannot start says why, and the session goes on" broken

# Limits of the box cover what runs in its engine.
hog() {
    options=(--memory 512m)
    in_engine 'docker run --rm -v /usr:/usr:ro nested-busybox /bin/busybox sh -c "/bin/ln -s usr/lib /lib; /bin/ln -s usr/lib64 /lib64; exec /usr/bin/python3 -c \"
l = []
while True: l.append(bytearray(b\\\"x\\\" * (1 << 24)))\""; exit $?' >"$scratch/out" 2>"$scratch/err"
    local ended=$?
    options=()
    cat "$scratch/err"
    is 137 $ended
}
t "a memory hog in a nested container is killed: 137" hog
fork_bomb() {
    options=(--pids-limit 200)
    in_engine 'timeout -s KILL 15 docker run --rm nested-busybox sh -c "b() { b | b & sleep 1000; }; b; exit 3" >/dev/null 2>&1; echo over; exit 6' >"$scratch/out" 2>"$scratch/err"
    local ended=$?
    options=()
    tail -n 5 "$scratch/err"
    is 6 $ended && sleep 0.1 && docker version >/dev/null
}
t "a fork bomb in a nested container leaves the host alive" fork_bomb

# A kernel that gave more on a higher rung, as if the probes had said so: the
# engine works, and neither it nor the harness has what is in its bounding set.
higher_rung() {
    mkdir -p "$scratch/state/agent-cage/engines" && cp "$XDG_STATE_HOME"/agent-cage/*.json "$scratch/state/agent-cage/"
    local file
    for file in "$XDG_STATE_HOME"/agent-cage/engines/*.ladder.json; do
        sed 's/"rung":"plain"/"rung":"cap"/' "$file" >"$scratch/state/agent-cage/engines/$(basename "$file")"
    done
    (export XDG_STATE_HOME=$scratch/state && as_root --engine-cache=off --exec bash -c 'docker ps >/dev/null || exit
        grep ^Cap /proc/self/status; echo engine; grep ^Cap /proc/$(pgrep -f ^/usr/bin/rootlesskit | head -n 1)/status; echo init; grep ^Cap /proc/1/status') >"$scratch/out" 2>"$scratch/err" || { cat "$scratch/err"; return 1; }
    cat "$scratch/out"
    # DAC_OVERRIDE, CHOWN, SETGID, SETUID, SETFCAP and SYS_ADMIN.
    is 'harness 0000000000000000 0000000000000000
engine 0000000000000000 00000000802000c3
init 00000000800000c1 00000000802000c3' "$(awk 'BEGIN { who = "harness" } NF == 1 { who = $1 } /^CapEff/ { eff = $2 } /^CapBnd/ { print who, eff, $2 }' "$scratch/out")"
}
t "a higher rung: the engine works, and nobody has what it adds" higher_rung

none() {
    as_root --engine none --exec sh -c 'docker ps; [ ! -e /var/run/docker.sock ]' >"$scratch/out" 2>"$scratch/err"
    is 0 $? && grep -q 'docker.sock' "$scratch/err"
}
t "none: no engine answers in the box" none
# The socket of the engine that runs the boxes, by itself, below a directory, and
# through a link.
refused() {
    status=0
    (cd "$project" && TOY_BOX_EXTRA_MOUNTS=$1:/mnt "$toy" --dry-run) >"$scratch/out" 2>"$scratch/err" || status=$?
    faulted 126 engine-start-failed "is a socket of the host"
}
t "a mount of the host's engine socket is refused" refused "$engine_socket"
t "so is that of a directory that it is in" refused "$(dirname "$engine_socket")"
ln -s "$(dirname "$engine_socket")" "$scratch/link"
t "and that of a link to one" refused "$scratch/link"

by_default() {
    (cd "$project" && "$toy" --dry-run=json) >"$scratch/out" && grep -q '"mode": "rootless"' "$scratch/out"
}
t "auto is rootless, where the engine has no Sysbox" by_default

if [ "$(id -u)" = 0 ]; then
    t "an ordinary user is made" make_user
    t "a user: a session with its engine" session user "$user_project"
    did user
    t "a user: what containers made is the user's on the host" is '' "$(find "$user_project" ! -user "$user" -printf '%P %U\n')"
else
    skip "a session of an ordinary user" "only root can make another user"
fi
finish
