# shellcheck shell=bash
# What the scripts about the launchers' contract share. A script sources this
# instead of lib.sh, which it brings along.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

engine_socket=${DOCKER_HOST:-unix:///var/run/docker.sock}
engine_socket=${engine_socket#unix://}
export AGENT_CAGE_LIBEXEC=${AGENT_CAGE_LIBEXEC:-$root/libexec}

# tool NAME...: builds programs of ci/ into $tools.
# shellcheck disable=SC2034 # used by the scripts
tools=$root/.cache/bin
tool() {
    local name
    for name in "$@"; do (cd "$root" && go build -o ".cache/bin/$name" "./ci/$name") || return; done
}

# launch COMMAND...: runs it in $project with its streams in $scratch/out and
# $scratch/err and its status in $status.
launch() {
    status=0
    (cd "$project" && exec "$@") >"$scratch/out" 2>"$scratch/err" || status=$?
}

# harness ARGUMENT...: launches them in the box.
harness() { launch "$box" --engine none --exec "$@"; }

# built_image: the last one that the last launch built.
built_image() { sed -n 's/^.*\] building //p' "$scratch/err" | tail -n 1 | grep .; }

# ended STATUS: that is the last launch's, and there is no fault line.
ended() {
    cat "$scratch/err"
    is "$1" "$status" && not grep -q 'fault=' "$scratch/err"
}

# faulted STATUS KIND [TEXT]: that is the last launch's, exactly one fault line
# says so, with TEXT in it, and stdout is empty.
faulted() {
    cat "$scratch/err"
    is "$1" "$status" && is 1 "$(grep -c 'fault=' "$scratch/err")" && is '' "$(cat "$scratch/out")" || return
    grep -q "^[a-z]*-box: fault=$2 detail=\"[^\"].*\"\$" "$scratch/err" || return
    grep 'fault=' "$scratch/err" | has -F -- "${3:-}"
}

# boxes: the ids of those of the project, running or not.
boxes() { docker ps -aq --filter label=dev.agent-cage.kind=box --filter "label=dev.agent-cage.project=$project"; }

no_box() { is '' "$(boxes)"; }

# fault STATUS KIND TEXT COMMAND...: the launch ends so and no box is left.
fault() {
    local want=$1 kind=$2 text=$3
    shift 3
    "$@"
    faulted "$want" "$kind" "$text" && no_box
}

# no_box_within SECONDS: or that is so soon.
no_box_within() {
    local tries=0
    until [ -z "$(boxes)" ]; do
        tries=$((tries + 1))
        [ $tries -lt $(($1 * 5)) ] || break
        sleep 0.2
    done
    no_box
}

# no_box_runs_within SECONDS: stopped ones may be left.
no_box_runs_within() {
    local tries=0 running=x
    while [ $tries -lt $(($1 * 5)) ]; do
        running=$(docker ps -q --filter label=dev.agent-cage.kind=box --filter "label=dev.agent-cage.project=$project")
        [ -n "$running" ] || return 0
        tries=$((tries + 1))
        sleep 0.2
    done
    is '' "$running"
}

remove_boxes() { boxes | xargs -r docker rm -f; }

# box_runs: waits until the project's box does.
box_runs() {
    local tries=0
    until [ -n "$(docker ps -q --filter status=running --filter label=dev.agent-cage.kind=box --filter "label=dev.agent-cage.project=$project")" ]; do
        tries=$((tries + 1))
        [ $tries -lt 150 ] || return
        sleep 0.2
    done
}

# appears FILE: waits for it.
appears() {
    local tries=0
    until [ -e "$1" ]; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || return
        sleep 0.1
    done
}

# soon SECONDS COMMAND...: fails if the command takes longer. It runs in a
# process group of its own, which is ended then.
soon() {
    local limit=$1
    shift
    timeout --kill-after=2 "$limit" "$@"
}

# make_user: an ordinary user who may use the engine, $user, with the launchers
# in a place that everybody reads, $user_box, and a project, $user_project.
make_user() {
    user=cage-test-$$
    mkdir -p "$scratch/users" && chmod 0755 "$scratch/users" || return
    useradd --create-home --home-dir "$scratch/users/$user" --shell /bin/sh "$user" || return
    at_exit userdel "$user"
    usermod -aG "$(getent group "$(stat -c %g "$engine_socket")" | cut -d: -f1)" "$user" || return
    install -d "$scratch/prefix/bin" "$scratch/prefix/libexec/agent-cage" || return
    install -m 0755 "$box" "$scratch/prefix/bin" && install -m 0755 "$AGENT_CAGE_LIBEXEC"/{cage-init,sbox,cage-gate} "$scratch/prefix/libexec/agent-cage" || return
    # shellcheck disable=SC2034 # used by the scripts
    user_box=$scratch/prefix/bin/$(basename "$box")
    user_project=$scratch/users/$user/project
    runuser -u "$user" -- mkdir "$user_project"
}

# as_user COMMAND...: with none of the caller's environment.
as_user() {
    runuser -u "$user" -- env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$scratch/users/$user" \
        ${DOCKER_HOST:+DOCKER_HOST="$DOCKER_HOST"} ${SSL_CERT_FILE:+SSL_CERT_FILE="$SSL_CERT_FILE"} "$@"
}

# soon_gone PID SECONDS: waits for a process to end, without its status.
soon_gone() {
    local tries=0
    while kill -0 "$1" 2>/dev/null && [ "$(ps -o stat= -p "$1" | cut -c1)" != Z ]; do
        tries=$((tries + 1))
        [ $tries -lt $(($2 * 10)) ] || return
        sleep 0.1
    done
}
