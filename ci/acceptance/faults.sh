#!/usr/bin/env bash
# Each way in which a run can fail without the harness's doing is provoked for
# real: it gives its status and exactly one fault line, nothing on stdout, and
# leaves no box.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

project=$(new_project)
toy_image=agent-cage-toy
# The faults of an image are the toy's, so that no other launcher meets them.
toy() { launch "$toy" --engine none "$@"; }

built() {
    tool toy-box faulty-engine && toy=$tools/toy-box && toy 0 && ended 0 &&
        is "toy in $project, start 1, key none: --first 0" "$(cat "$scratch/out")"
}
second_start() {
    TOY_KEY=forwarded toy --flag 9
    ended 9 && is "toy in $project, start 2, key forwarded: --first --flag 9" "$(cat "$scratch/out")"
}
t "a third launcher: its image is built, its harness runs" built
t "and has its state, its variables and its status" second_start

## The harness.
put() { printf "%b" "$2" >"$project/$1" && chmod "$3" "$project/$1"; }
# A program for a processor that no machine has.
alien() { head -c 4096 /bin/true >"$project/alien" && printf '\x5a\x5a' | dd of="$project/alien" bs=1 seek=18 conv=notrunc && chmod 755 "$project/alien"; }
files_made() {
    put script.sh '#!/bin/sh\nexit 0\n' 0644 && put interpreter '#!/no/such/interpreter\n' 0755 && put dos '#!/bin/sh\r\nexit 0\r\n' 0755 &&
        put text 'no program\n' 0755 && put empty '' 0755 && mkdir "$project/folder" && alien
}
t "harnesses that cannot run are made" files_made
t "harness missing" fault 127 harness-not-executable "no-such-harness" harness no-such-harness
t "harness missing at a path" fault 127 harness-not-executable "/no/such/harness" harness /no/such/harness
t "harness not executable" fault 127 harness-not-executable "not executable" harness ./script.sh
t "script with a bad interpreter" fault 127 harness-not-executable "/no/such/interpreter" harness ./interpreter
t "script with carriage returns" fault 127 harness-not-executable '/bin/sh\\r' harness ./dos
t "a directory" fault 127 harness-not-executable "is a directory" harness ./folder
t "wrong architecture" fault 127 harness-not-executable "another processor" harness ./alien
t "neither program nor script" fault 127 harness-not-executable "neither a program" harness ./text
t "an empty file" fault 127 harness-not-executable "neither a program" harness ./empty
t "an empty command" fault 127 harness-not-executable "is empty" harness ""
# The same numbers, by a shell in the box.
own() {
    local want=$1
    shift
    harness sh -c "$*"
    ended "$want"
}
t "a shell's own 127 is the harness's" own 127 no-such-command
t "a shell's own 126 is the harness's" own 126 ./folder

## Memory.
limit=(--memory 64m)
limited() { launch "$box" --engine none "${limit[@]}" --exec "$@"; }
out_of_memory() {
    limited tail /dev/zero
    faulted 137 out-of-memory "--memory" && no_box
}
killed() {
    limited sh -c 'kill -9 $$; sleep 9'
    ended 137 && no_box
}
only_a_child() {
    limited sh -c 'tail /dev/zero; exit 5'
    ended 5 && no_box
}
t "out of memory under a limit" out_of_memory
t "killed under the same limit" killed
t "only a child out of memory under the same limit" only_a_child

## The image.
# break_image DOCKERFILE-LINES: the toy's name gets an image with the labels of
# the right one, as if something had happened to it since.
break_image() {
    docker tag $toy_image $toy_image:whole && at_exit docker tag $toy_image:whole $toy_image && at_exit docker rmi $toy_image:whole || return
    printf 'FROM %s:whole\n%s\n' $toy_image "$1" | DOCKER_BUILDKIT=0 docker build --network none -q -t $toy_image -
}
whole_again() { docker tag $toy_image:whole $toy_image; }
init=/usr/local/libexec/agent-cage/cage-init
broken_start() {
    break_image "$1" || return
    toy 0
    whole_again
    faulted 126 engine-start-failed "$2" && no_box
}
t "entry point missing" broken_start "RUN rm $init" "rebuild the image"
t "entry point not executable" broken_start "RUN chmod 0644 $init" "rebuild the image"
t "entry point is a shell" broken_start 'RUN printf "#!/bin/sh\necho some text\n" >'$init "entry point is not cage-init"
t "entry point ends at once" broken_start "RUN cp /usr/bin/true $init" "before the harness started"
t "entry point ends with 127" broken_start 'RUN printf "#!/bin/sh\nexit 127\n" >'$init "before the harness started"

# faulty RULE...: an engine with faults; $faulty_pid, reached through DOCKER_HOST.
faulty() {
    local rules=() rule
    for rule in "$@"; do rules+=(--rule "$rule"); done
    rm -f "$scratch/faulty.sock"
    "$tools/faulty-engine" --listen "$scratch/faulty.sock" --engine "$engine_socket" --log "$scratch/faulty.log" "${rules[@]}" &
    faulty_pid=$!
    appears "$scratch/faulty.sock"
}
honest_again() {
    kill "$faulty_pid" 2>/dev/null
    wait "$faulty_pid"
} 2>/dev/null
through() { DOCKER_HOST=unix://$scratch/faulty.sock "$@"; }

# with_faults STATUS KIND TEXT RULE: a launch of the toy through such an engine.
with_faults() {
    faulty "$4" && through toy 0
    honest_again
    cat "$scratch/faulty.log"
    faulted "$1" "$2" "$3"
}
removed_in_between() {
    docker tag $toy_image $toy_image:whole || return
    with_faults 125 image-missing "start again to build it" "POST /containers/create run docker rmi -f $toy_image"
    local result=$?
    whole_again
    return $result
}
t "image removed between build and create" removed_in_between
no_binaries() {
    AGENT_CAGE_LIBEXEC=$scratch "$@"
}
t "an input of the image missing" fault 125 image-missing "make build" no_binaries toy 0
build_fails() {
    docker tag $toy_image $toy_image:whole && docker rmi $toy_image || return
    with_faults 125 image-missing "build of agent-cage-toy" "POST /(grpc|session) status 500 no builder today"
    local result=$?
    whole_again
    return $result
}
t "a build that fails" build_fails

## The engine.
no_engine() { DOCKER_HOST=$1 toy 0; }
t "no engine at the socket" fault 126 engine-start-failed "no engine answers" no_engine "unix://$scratch/no.sock"
t "no engine at the port" fault 126 engine-start-failed "no engine answers" no_engine tcp://127.0.0.1:1
t "a malformed engine endpoint" fault 126 engine-start-failed "DOCKER_HOST" no_engine "teleport://somewhere"
t "a container that the engine refuses" with_faults 126 engine-start-failed "not today" "POST /containers/create status 500 not today"
t "a start that the engine refuses" with_faults 126 engine-start-failed "not today" "POST /containers/[^/]*/start status 500 not today"
t "nothing is left of them" no_box

# lost RULE: the engine is gone before the harness runs. A box that was already
# made stays, since there is nobody to remove it, but does not run.
lost() {
    with_faults 126 engine-start-failed "${2:-}" "$1"
    local result=$?
    no_box_runs_within 15 && remove_boxes && return $result
}
t "engine lost when asked" lost "GET /info lose"
t "engine lost during create" lost "POST /containers/create lose"
t "engine lost after create" lost "POST /containers/[^/]*/attach lose"
t "engine lost during start" lost "POST /containers/[^/]*/start lose"
# lost_in_handshake DELAY
lost_in_handshake() {
    # An entry point that never gets as far as saying ready.
    break_image 'RUN printf "#!/bin/sh\nexec sleep 8\n" >'$init || return
    lost "POST /containers/[^/]*/start lose-after $1" "before the harness started"
    local result=$?
    whole_again
    return $result
}
t "engine lost after start" lost_in_handshake 0s
t "engine lost in the handshake" lost_in_handshake 1s

lost_while_running() {
    faulty "GET /never lose" || return
    (
        appears "$project/running"
        sleep 1
        kill "$faulty_pid"
    ) &
    through launch "$box" --engine none --exec sh -c 'touch running; sleep 60; exit 3'
    wait
    rm -f "$project/running"
    faulted 126 engine-lost
}
t "engine lost while running" lost_while_running
t "the box ends by itself then" no_box_runs_within 15
t "and is gone when it is removed" eval 'remove_boxes && no_box'

## The project and the mounts.
unseen() {
    mkdir "$scratch/apart" || return
    status=0
    unshare --mount sh -c 'mount -t tmpfs none "$1" && mkdir "$1/project" && cd "$1/project" && shift && exec "$@"' sh \
        "$scratch/apart" "$toy" --engine none 0 >"$scratch/out" 2>"$scratch/err" || status=$?
    faulted 126 engine-start-failed "the engine must see the same files"
}
# Another directory of the same name is the engine's for an extra mount.
unseen_mount() {
    mkdir "$scratch/extra" || return
    status=0
    (cd "$project" && CLAUDE_BOX_EXTRA_MOUNTS=$scratch/extra:/mnt exec unshare --mount sh -c 'mount -t tmpfs none "$1" && echo key >"$1/key" && shift && exec "$@"' sh \
        "$scratch/extra" "$box" --engine none --exec sh -c 'echo written >/mnt/out') >"$scratch/out" 2>"$scratch/err" || status=$?
    faulted 126 engine-start-failed "$scratch/extra" && is '' "$(ls -A "$scratch/extra")"
}
# An overlay cannot map the ids of a root of the host.
on_overlay() {
    mkdir "$scratch"/{lower,upper,work,merged} && mount -t overlay none -o "lowerdir=$scratch/lower,upperdir=$scratch/upper,workdir=$scratch/work" "$scratch/merged" || return
    at_exit umount "$scratch/merged"
    local project=$scratch/merged
    toy 0
    faulted 126 engine-start-failed "$project" && no_box
}
if [ "$(id -u)" = 0 ]; then
    t "a project that the engine does not see" unseen
    t "an extra mount of which the engine sees another" unseen_mount
    t "a project whose files cannot be given to the box" on_overlay
else
    skip "a project that the engine does not see" "only root can mount"
    skip "a project whose files cannot be given to the box" "only root can mount"
fi
extra_mount() { TOY_BOX_EXTRA_MOUNTS=$1 toy 0; }
socket_below() {
    mkdir "$scratch/sockets" && faulty "GET /never lose" && mv "$scratch/faulty.sock" "$scratch/sockets/docker.sock" || return
    extra_mount "$scratch/sockets:/mnt"
    honest_again
    faulted 126 engine-start-failed "/mnt/docker.sock" && no_box
}
t "an engine's socket below a mount" socket_below
t "the network does not exist" fault 126 engine-start-failed "docker network ls" toy --network no-such-network 0

## The request.
t "an unknown engine" fault 1 usage "--engine" toy --engine bogus 0
t "a flag without its value" fault 1 usage "--name" toy --name
t "a bad size" fault 1 usage "--memory" toy --memory much 0
t "a bad time limit" fault 1 usage "--timeout" toy --timeout 5 0
t "a bad name" fault 1 usage "--name" toy --name 'not/a name' 0
t "a widening flag among the harness's arguments" fault 1 usage "--network" toy 0 --network host
taken_name() {
    docker create --name "agent-cage-taken-$$" --entrypoint true $toy_image && at_exit docker rm "agent-cage-taken-$$" &&
        fault 1 usage "--name" toy --name "agent-cage-taken-$$" 0
}
t "a name that is taken" taken_name
# home VALUE, or - for none.
home() {
    case $1 in
    -) (unset HOME && cd "$project" && exec "$toy" --engine none 0) >"$scratch/out" 2>"$scratch/err" && status=0 || status=$? ;;
    *) HOME=$1 toy 0 ;;
    esac
}
t "HOME unset" fault 1 usage "HOME" home -
t "HOME empty" fault 1 usage "HOME" home ""
t "HOME relative" fault 1 usage "HOME" home some/where
t "HOME missing" fault 1 usage "HOME" home "$scratch/nowhere"
t "HOME a file" fault 1 usage "HOME" home "$project/text"
in_folder() { (cd "$1" && exec "$toy" --engine none 0) >"$scratch/out" 2>"$scratch/err" && status=0 || status=$?; }
t "the home directory as the project" fault 1 usage "home directory" in_folder "$HOME"
t "/ as the project" fault 1 usage "home directory" in_folder /
t "/etc as the project" fault 1 usage "part of the system" in_folder /etc
mount_missing() { TOY_BOX_EXTRA_MOUNTS=/no/such/source:/mnt toy 0; }
mount_within() {
    mkdir "$scratch/given" && CLAUDE_BOX_EXTRA_MOUNTS=$scratch/given:$project/sub/deep harness true
    faulted 1 usage "first make $project/sub/deep" && not [ -e "$project/sub" ]
}
t "an extra mount below the project, where the engine would make its place" mount_within
t "an extra mount whose source is missing" fault 1 usage "/no/such/source" mount_missing

another_owner() {
    local HOME=$scratch/home-2
    mkdir -p "$HOME/.toy-box/state" && chown 12345:12345 "$HOME/.toy-box/state" || return
    toy 0
    faulted 1 usage ".toy-box" && no_box
}
as_other() { (cd "$user_project" && as_user "$@") >"$scratch/out" 2>"$scratch/err" && status=0 || status=$?; }
unwritable_home() {
    mkdir -p "$scratch/users/bare" && install -m 0755 "$toy" "$scratch/prefix/bin/toy-box" || return
    as_other env HOME="$scratch/users/bare" "$scratch/prefix/bin/toy-box" --engine none 0
    faulted 1 usage ".toy-box"
}
if [ "$(id -u)" = 0 ]; then
    t "a state directory of another owner" another_owner
    t "an ordinary user is made" make_user
    t "HOME not writable" unwritable_home
else
    skip "a state directory of another owner" "only root can make one"
    skip "HOME not writable" "only root has another's"
fi

## Signals before the harness runs.
early() {
    faulty "$2 $3 delay 3s" || return
    (
        tries=0
        until grep -q "$2 $3" "$scratch/faulty.log" || [ $((tries += 1)) -gt 200 ]; do sleep 0.1; done
        sleep 0.2
        kill "-$1" "$(cat "$scratch/pid")"
    ) &
    status=0
    through sh -c 'cd "$1" && echo $$ >"$2" && shift 2 && exec "$@"' sh "$project" "$scratch/pid" "$toy" --engine none 0 \
        >"$scratch/out" 2>"$scratch/err" || status=$?
    wait $!
    sleep 3
    honest_again
    faulted 126 engine-start-failed "before the harness started" && no_box_within 10
}
t "TERM during create" early TERM POST /containers/create
t "INT during start" early INT POST "/containers/.*/start"
t "HUP while images are looked at" early HUP GET /images/json
t "QUIT while the engine is asked whether it is there" early QUIT HEAD /_ping
# interrupt SIGNAL COMMAND...: launches with the signal sent once the command
# succeeds.
interrupt() {
    local signal=$1
    shift
    rm -f "$scratch/pid"
    (
        tries=0
        until "$@" || [ $((tries += 1)) -gt 200 ]; do sleep 0.1; done
        kill "-$signal" "$(cat "$scratch/pid")"
    ) &
    launch sh -c 'echo $$ >"$1" && shift && exec "$@"' sh "$scratch/pid" "$toy" --engine none "${flags[@]}" 0
    wait $!
}
# A build goes on for as long as its command does: that is looked for.
building() { pgrep -fx "sleep 4$$" >/dev/null; }
not_building() {
    local tries=0
    while building; do
        [ $((tries += 1)) -lt 50 ] || return
        sleep 0.1
    done
}
during_build() {
    mkdir "$scratch/context" && printf 'FROM %s\nRUN sleep 4%s\n' $toy_image $$ >"$scratch/context/Dockerfile" || return
    local began=$SECONDS flags=(--dockerfile "$scratch/context/Dockerfile")
    interrupt TERM building
    faulted 126 engine-start-failed "interrupted by signal terminated" && no_box && not_building && [ $((SECONDS - began)) -lt 30 ]
}
t "TERM during a build ends it" during_build
during_handshake() {
    local flags=()
    break_image 'RUN printf "#!/bin/sh\nexec sleep 60\n" >'$init || return
    interrupt "$1" box_runs
    whole_again
    faulted 126 engine-start-failed "before the harness started" && no_box
}
t "INT in the handshake" during_handshake INT
t "QUIT in the handshake" during_handshake QUIT
finish
