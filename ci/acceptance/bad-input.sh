#!/usr/bin/env bash
# What a caller can get wrong, beyond flags and HOME (faults.sh): projects that
# are none, Dockerfiles, in-box binaries, a full disk. Each has its status and
# one fault line, and leaves nothing behind.
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

project=$(new_project)
began=$scratch/began
touch "$began"

# fault STATUS KIND TEXT COMMAND...: the launch ends so, no box is left, and
# HOME is as it was.
fault() {
    local want=$1 kind=$2 text=$3 before
    shift 3
    before=$(find "$HOME" | sort)
    "$@"
    faulted "$want" "$kind" "$text" && no_box && is "$before" "$(find "$HOME" | sort)"
}

toy_is_built() { tool toy-box faulty-engine && launch "$tools/toy-box" --engine none 0 && ended 0; }
t "the image is built" toy_is_built

## Projects.
echo text >"$project/file"
in_project() { launch "$box" --engine none "$1"; }
deleted() {
    local project
    project=$(new_project)
    status=0
    (cd "$project" && rmdir "$project" && exec "$tools/toy-box" --engine none 0) >"$scratch/out" 2>"$scratch/err" || status=$?
}
t "a project that is missing" fault 1 usage "does not exist" in_project /no/such/project
t "a project that is a file" fault 1 usage "not a directory" in_project ./file
t "a project that has been deleted" fault 1 usage "project directory" deleted
# As somebody else; what is asked of the engine comes later.
unreadable() {
    mkdir -m 0700 "$scratch/closed"
    install -D -m 0755 "$tools/toy-box" "$scratch/bin/toy-box"
    install -d -o 12345 "$scratch/of-12345"
    status=0
    # The directory is entered before the caller becomes who may not.
    (cd "$scratch/closed" && exec setpriv --reuid 12345 --regid 12345 --clear-groups env HOME="$scratch/of-12345" "$scratch/bin/toy-box" --engine none 0) \
        >"$scratch/out" 2>"$scratch/err" || status=$?
}
if [ "$(id -u)" = 0 ]; then
    t "a project that cannot be read" fault 1 usage "project directory" unreadable
else
    skip "a project that cannot be read" "only root can become another"
fi

## Dockerfiles.
with_dockerfile() { launch "$tools/toy-box" --engine none --dockerfile "$1" 0; }
echo 'FORM agent-cage-toy' >"$scratch/broken.Dockerfile"
printf 'FROM agent-cage-toy\nRUN echo the log of it; exit 3\n' >"$scratch/failing.Dockerfile"
echo 'FROM image.invalid/none:1' >"$scratch/no-base.Dockerfile"
whole_log() { grep -q 'the log of it' "$scratch/err"; }
t "a Dockerfile that is missing" fault 1 usage "no-such.Dockerfile" with_dockerfile "$scratch/no-such.Dockerfile"
t "a broken Dockerfile" fault 125 image-missing "build" with_dockerfile "$scratch/broken.Dockerfile"
t "a Dockerfile that fails" fault 125 image-missing "build" with_dockerfile "$scratch/failing.Dockerfile"
t "and its log is shown" whole_log
# A real write to a device without room, in a step of the build.
printf 'FROM agent-cage-toy\nRUN cat /etc/passwd >/dev/full\n' >"$scratch/full.Dockerfile"
t "a disk that is full in a build" fault 125 image-missing "docker system prune" with_dockerfile "$scratch/full.Dockerfile"
mkdir "$scratch/slow"
printf 'FROM agent-cage-toy\nRUN echo %s; sleep 20\n' "$$" >"$scratch/slow/Dockerfile"
lost_in_build() {
    "$tools/faulty-engine" --listen "$scratch/lost.sock" --engine "$engine_socket" --rule "POST /grpc lose-after 2s" &
    local pid=$!
    appears "$scratch/lost.sock" && DOCKER_HOST=unix://$scratch/lost.sock with_dockerfile "$scratch/slow/Dockerfile"
    kill $pid 2>/dev/null
    wait $pid
}
t "an engine that goes away during a build" fault 126 engine-start-failed "no engine answers" lost_in_build
t "a base image that is missing" fault 125 image-missing "image.invalid" with_dockerfile "$scratch/no-base.Dockerfile"

## In-box binaries of another architecture: e_machine is byte 18 of an ELF file.
alien_binaries() {
    rm -rf "$scratch/libexec" && cp -r "$AGENT_CAGE_LIBEXEC" "$scratch/libexec" || return
    printf '\xf7' | dd of="$scratch/libexec/cage-init" bs=1 seek=18 conv=notrunc status=none
    AGENT_CAGE_LIBEXEC=$scratch/libexec launch "$tools/toy-box" --engine none 0
}
t "in-box binaries of another architecture" fault 125 image-missing "cage-init" alien_binaries

## A clock far off is a warning, again and again, and no fault.
off_clock() {
    rm -f "$scratch/clock.sock"
    "$tools/faulty-engine" --listen "$scratch/clock.sock" --engine "$engine_socket" \
        --rule 'HEAD ^/_ping$ edit s/^\(Date: .* 20\)[0-9]/\11/' &
    local pid=$! result
    appears "$scratch/clock.sock" && DOCKER_HOST=unix://$scratch/clock.sock launch "$tools/toy-box" --engine none 7 &&
        ended 7 && grep -q "WARNING: the engine's clock is -.*off this one's" "$scratch/err" &&
        DOCKER_HOST=unix://$scratch/clock.sock launch "$tools/toy-box" --engine none 7 && ended 7 && # its facts are known now
        is 1 "$(grep -c "WARNING: the engine's clock" "$scratch/err")" && no_box
    result=$?
    kill $pid 2>/dev/null
    wait $pid
    return $result
}
right_clock() { launch "$tools/toy-box" --engine none 7 && ended 7 && not grep -q clock "$scratch/err"; }
t "an engine whose clock is far off" off_clock
t "and one whose clock is right" right_clock

## An engine that is too old, or is asked for what it does not speak.
# through RULE VARIABLE...: a launch through an engine that a rule of the proxy's makes another.
through() {
    local rule=$1
    shift
    rm -f "$scratch/other.sock"
    "$tools/faulty-engine" --listen "$scratch/other.sock" --engine "$engine_socket" --rule "$rule" &
    local pid=$!
    appears "$scratch/other.sock" && launch env "$@" DOCKER_HOST="unix://$scratch/other.sock" "$tools/toy-box" --engine none 0
    kill $pid 2>/dev/null
    wait $pid
}
spoken=$(docker version --format '{{.Server.APIVersion}}')
t "an engine with an older API" fault 126 engine-start-failed "speaks API 1.40, at least 1.41" \
    through "HEAD ^/_ping\$ edit s/^\\(Api-Version: \\)$spoken/\\11.40/"
t "an API that is asked for and too old" fault 126 engine-start-failed "DOCKER_API_VERSION asks for API 1.40, but at least 1.41" \
    through "GET /never lose" DOCKER_API_VERSION=1.40
t "one that the engine does not speak" fault 126 engine-start-failed "speaks $spoken at most: unset it" \
    through "GET /never lose" DOCKER_API_VERSION=1.99

## A disk of the engine's without room for a box.
t "an engine without room for a box" fault 126 engine-start-failed "free space on the engine's disk" \
    through "POST /containers/create status 500 mkdir /var/lib/docker/overlay2/x: no space left on device"

## A disk without room for the state.
full_disk() {
    mkdir -p "$scratch/full" && mount -t tmpfs -o size=64k tmpfs "$scratch/full" && at_exit umount "$scratch/full" || return
    dd if=/dev/zero of="$scratch/full/filler" bs=4k 2>/dev/null
    local HOME=$scratch/full
    launch "$box" --engine none -p hello
}
if [ "$(id -u)" = 0 ]; then
    t "a full disk" fault 126 engine-start-failed "space" full_disk
else
    skip "a full disk" "only root can mount one"
fi

## What all of them have left.
unlocked() {
    local lock
    for lock in "$XDG_STATE_HOME"/agent-cage/locks/*.lock "$HOME"/.*/*.lock; do
        [ ! -e "$lock" ] || flock -n "$lock" true || { echo "$lock is held" && return 1; }
    done
}
no_temporaries() { is '' "$(find "$XDG_STATE_HOME/agent-cage" "$HOME" "$project" -newer "$began" \( -name '*.tmp' -o -name '*.new' \))"; }
t "no lock is held" unlocked
t "no temporary file is left" no_temporaries
finish
