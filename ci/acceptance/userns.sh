#!/usr/bin/env bash
# Engines that run boxes in a user namespace: a rootless one, and one that remaps
# ids. The harness is who the caller is in there, and what root owns in the box,
# who is the caller with a rootless engine, is out of its reach all the same.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

rootless_script=
for candidate in /usr/share/docker.io/contrib/dockerd-rootless.sh "$(command -v dockerd-rootless.sh)"; do
    [ ! -x "$candidate" ] || rootless_script=$candidate
done
missing=
[ "$(id -u)" = 0 ] || missing="only root can make another user"
for program in rootlesskit slirp4netns newuidmap dockerd; do
    command -v "$program" >/dev/null || missing="there is no $program"
done
[ -n "$rootless_script" ] || missing="there is no dockerd-rootless.sh"
if [ -n "$missing" ]; then
    skip "engines in a user namespace" "$missing"
    finish
    exit
fi

user=cage-userns-$$
own_engine=unix://$scratch/engine/docker.sock

make_user() {
    mkdir -p "$scratch/users" "$scratch/engine" && chmod 0755 "$scratch/users" "$scratch/engine" || return
    useradd --create-home --home-dir "$scratch/users/$user" --shell /bin/sh "$user" || return
    at_exit userdel "$user"
    uid=$(id -u "$user") gid=$(id -g "$user")
    make -s -C "$root" install PREFIX="$scratch/prefix" && tool toy-box && cp "$tools/toy-box" "$scratch/prefix/bin/" || return
    chmod -R a+rX "$scratch/prefix"
    project=$scratch/users/$user/project
    runuser -u "$user" -- mkdir "$project"
}

# as_user COMMAND...: in the user's project, with the engine $own_engine.
as_user() {
    (cd "$project" && exec setpriv --reuid "$user" --regid "$user" --init-groups env -i \
        PATH="$scratch/prefix/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" HOME="$scratch/users/$user" \
        XDG_RUNTIME_DIR="$scratch/engine" DOCKER_HOST="$own_engine" "$@")
}

# answers: waits for the engine.
answers() {
    local tries=0
    until DOCKER_HOST=$own_engine docker version; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || { tail -n 20 "$scratch/engine.log"; return 1; }
        sleep 0.3
    done
}

# The images that the caller's own engine has need not be built again.
load_images() { docker save cage-base agent-cage-toy | DOCKER_HOST=$own_engine docker load; }

# stop_engine: ends what listens, with its containerd.
stop_engine() {
    local pid tries=0
    for pid in "$scratch"/engine/*.pid; do [ ! -s "$pid" ] || kill "$(cat "$pid")"; done
    while pgrep -f "$scratch/engine" >/dev/null && [ $tries -lt 60 ]; do
        tries=$((tries + 1))
        sleep 0.25
    done
    umount -R "$scratch"/engine/data/* 2>/dev/null
    rm -rf "$scratch/engine" && mkdir "$scratch/engine" && chmod 0755 "$scratch/engine"
}
at_exit stop_engine

start_rootless() {
    chown "$user" "$scratch/engine" && chmod 0700 "$scratch/engine" || return
    # The kernel's own permission is enough, where only root has the device.
    [ ! -e /dev/net/tun ] || [ "$(stat -c %a /dev/net/tun)" = 666 ] || {
        at_exit chmod "$(stat -c %a /dev/net/tun)" /dev/net/tun
        chmod 0666 /dev/net/tun
    }
    as_user env DOCKERD_ROOTLESS_ROOTLESSKIT_SLIRP4NETNS_SANDBOX=false DOCKERD_ROOTLESS_ROOTLESSKIT_MTU=1500 \
        DOCKERD_ROOTLESS_ROOTLESSKIT_FLAGS="--state-dir=$scratch/engine/kit" setsid --fork "$rootless_script" \
        -H "$own_engine" --data-root "$scratch/engine/data" --exec-root "$scratch/engine/exec" --pidfile "$scratch/engine/dockerd.pid" \
        >"$scratch/engine.log" 2>&1 </dev/null
    answers && cp "$scratch/engine/kit/child_pid" "$scratch/engine/child.pid"
}

# box COMMAND...: as the user, in the box.
box_as_user() { as_user toy-box --engine none --network none --exec "$@"; }

owned() {
    box_as_user sh -c 'umask 022; echo x >file; mkdir -p dir; echo y >dir/file; git init -q repository' || return
    is '' "$(find "$project" \( ! -uid "$uid" -o ! -gid "$gid" \) -printf '%P %U:%G\n')" && [ -s "$project/dir/file" ]
}

same_ids() { is "$uid:$gid $uid $user" "$(box_as_user sh -c 'echo "$(id -u):$(id -g) $(stat -c %u file) $(id -un)"')"; }

confined() {
    box_as_user sh -c 'cat /proc/self/status' >"$scratch/status" || return
    is 'CapInh CapPrm CapEff CapBnd CapAmb' "$(awk '/^Cap/ && $2 ~ /^0+$/ {sub(":", "", $1); printf "%s%s", s, $1; s=" "}' "$scratch/status")" &&
        grep -q '^NoNewPrivs:.1' "$scratch/status"
}

# What root owns in the box stays as it is, seen by each way to write that the
# owner of a file has; and the attacks did run.
sealed() {
    box_as_user bash -c '
        bad=0
        try() { if eval "$1" 2>/dev/null; then echo "done: $1"; bad=1; fi; }
        try "echo x >/usr/bin/new"
        try "echo x >>/etc/passwd"
        try "echo x >>/etc/hosts"
        try "mv /usr/local/libexec/agent-cage/cage-init /tmp/"
        try "rm /run/agent-cage/lifeline.sock"
        try "echo x >/run/agent-cage/harness"
        try "mkdir /new"
        try "chmod u+s /usr/bin/id"
        try "mount -o remount,rw /"
        try "unshare -Ur mount -o remount,rw /"
        try "unshare -Urm mount -o remount,bind,rw /usr"
        try "umount /run/agent-cage"
        try "grep -q . /proc/1/environ"
        echo ok >/tmp/t && echo ok >/var/tmp/t && echo ok >~/t && echo ok >t || bad=1
        [ "$(stat -c %u /usr/bin)" = "$(id -u)" ] && echo "root here is the caller"
        exit $bad' >"$scratch/out" 2>&1
    local ended=$?
    cat "$scratch/out"
    [ $ended = 0 ] && { [ "$1" != rootless ] || grep -q 'root here is the caller' "$scratch/out"; }
}

# The lifeline is nobody that the harness could stop, and a launcher that is
# killed takes the box along.
lifeline_holds() {
    as_user toy-box --engine none --network none --exec bash -c '
        while ! pid=$(pgrep -f "cage-ini[t] lifeline"); do sleep 0.1; done
        kill -STOP $pid 2>/dev/null && echo stopped; kill -KILL $pid 2>/dev/null && echo killed
        echo tried; trap "" TERM; sleep 60' >"$scratch/out" 2>&1 &
    local tries=0 began
    until grep -q tried "$scratch/out"; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || { cat "$scratch/out"; return 1; }
        sleep 0.1
    done
    began=$SECONDS
    pkill -KILL -u "$user" -x toy-box
    until [ -z "$(DOCKER_HOST=$own_engine docker ps -q)" ]; do
        [ $((SECONDS - began)) -lt 8 ] || { DOCKER_HOST=$own_engine docker ps; return 1; }
        sleep 0.1
    done
    cat "$scratch/out"
    is tried "$(head -n 1 "$scratch/out")"
}

entered() {
    rm -f "$project/here"
    as_user toy-box --engine none --network none --name entered --exec sh -c 'touch here; sleep 60' &
    local tries=0
    until [ -e "$project/here" ]; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || return 1
        sleep 0.1
    done
    is "$uid 0000000000000000" "$(as_user cage exec entered sh -c 'echo "$(id -u) $(sed -n "s/^CapEff:.//p" /proc/self/status)"')"
    local good=$?
    as_user cage stop entered
    wait
    return $good
}

# refused TEXT COMMAND...: the status is 126, and the one fault line says TEXT.
refused() {
    local text=$1
    shift
    status=0
    "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
    faulted 126 engine-start-failed "$text"
}

as_root() { (cd "$project" && DOCKER_HOST=$own_engine "$scratch/prefix/bin/toy-box" --engine none --network none "$@"); }

# as_other ARGUMENT...: toy-box as a user whom the engine does not know.
as_other() {
    useradd --create-home --home-dir "$scratch/users/$user-b" --shell /bin/sh -G "$user" "$user-b" && at_exit userdel "$user-b" || return
    install -d -o "$user-b" "$scratch/users/$user-b/project"
    (cd "$scratch/users/$user-b/project" && exec runuser -u "$user-b" -- env -i PATH="$scratch/prefix/bin:/usr/bin:/bin" \
        HOME="$scratch/users/$user-b" DOCKER_HOST="$own_engine" toy-box --engine none --network none "$@")
}

# What an ordinary user's box is like.
box_works() {
    t "$1: files are the user's on the host" owned
    t "$1: the user has the same ids inside" same_ids
    t "$1: no capability, no new privileges" confined
    t "$1: what root owns is out of reach" sealed "$1"
    t "$1: the lifeline can be neither stopped nor killed" lifeline_holds
    t "$1: cage exec enters as the harness" entered
}

# The image that is loaded below.
toy_is_built() { tool toy-box && (cd "$(new_project)" && exec "$tools/toy-box" --engine none --exec true); }

t "the image is built" toy_is_built
t "an ordinary user is made" make_user
t "a rootless engine runs" start_rootless
t "a rootless engine: images are loaded" load_images
box_works rootless
t "rootless: a box for root is refused" refused "files of root cannot be shown" as_root --exec true
stop_engine

# remap RANGE...: the ranges of the engine's user namespace, in order.
start_remapped() {
    cp /etc/subuid "$scratch/subuid" && cp /etc/subgid "$scratch/subgid" || return
    at_exit cp "$scratch/subgid" /etc/subgid
    at_exit cp "$scratch/subuid" /etc/subuid
    local range file
    for file in /etc/subuid /etc/subgid; do
        sed -i "/^$user:/d" "$file"
        for range in "$@"; do echo "$user:$range" >>"$file"; done
    done
    # In a network of its own: an engine without a bridge removes the default one.
    setsid --fork unshare --net dockerd -H "$own_engine" --data-root "$scratch/engine/data" --exec-root "$scratch/engine/exec" \
        --pidfile "$scratch/engine/dockerd.pid" --bridge none --iptables=false --userns-remap="$user" -G "$user" >"$scratch/engine.log" 2>&1 </dev/null
    answers
}

t "an engine that remaps ids runs" start_remapped 2000000:65536 "$uid:1"
t "an engine that remaps ids: images are loaded" load_images
box_works remapped
t "remapped: --user is taken at its word" is 1234 "$(box_as_user true; as_user toy-box --engine none --network none --user 1234:1234 --exec id -u 2>/dev/null)"
t "remapped: a user who is not mapped is refused, with the way out" refused "user namespace that does not have your user" as_other --exec true
stop_engine
finish
