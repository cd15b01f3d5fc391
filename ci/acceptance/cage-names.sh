#!/usr/bin/env bash
# Names: how a box is called, who may have the name, and the file that tells it
# to a supervisor.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

cage=$root/bin/cage
project=$(new_project)
box_name=cage-names-$$
at_exit remove_boxes

t "the image is there" in_box "$project" true

bad_name() {
    launch "$box" --name 'not/a name' --exec true
    faulted 1 usage "--name: invalid container name" && no_box &&
        grep -q '^\[claude-box\] --name: invalid container name "not/a name"' "$scratch/err"
}
t "a name that Docker would refuse" bad_name

# begin NAME COMMAND...: a box that has said up; $launcher is its pid.
begin() {
    local called=$1
    shift
    rm -f "$project/up"
    (cd "$project" && exec "$box" --engine none --name "$called" --name-file "$scratch/name" --exec "$@" </dev/null >"$scratch/out" 2>"$scratch/err") &
    launcher=$!
    appears "$project/up" || { cat "$scratch/err"; return 1; }
}
ends() {
    status=0
    wait "$launcher" || status=$?
    cat "$scratch/err"
    is "$1" "$status" && no_box && not [ -e "$scratch/name" ]
}

named_and_stopped() {
    begin "$box_name" sh -c 'trap "exit 7" TERM; touch up; while :; do sleep 0.1; done' || return
    is "$box_name" "$(cat "$scratch/name")" && is 600 "$(stat -c %a "$scratch/name")" &&
        is hello "$(docker exec "$(cat "$scratch/name")" echo hello)" && docker stop "$box_name" && ends 7 && not grep -q fault= "$scratch/err"
}
t "the name file; docker exec and docker stop by the name; the harness's status" named_and_stopped

killed_from_outside() {
    begin "$box_name" sh -c 'touch up; exec sleep 100' && docker kill "$box_name" && ends 137 && not grep -q fault= "$scratch/err"
}
t "a box killed from outside" killed_from_outside

in_use() {
    begin "$box_name" sh -c 'touch up; exec sleep 100' || return
    status=0
    (cd "$project" && exec "$box" --engine none --name "$box_name" --exec true) >"$scratch/out-2" 2>"$scratch/err-2" || status=$?
    cat "$scratch/err-2"
    is 1 "$status" && grep -q "fault=usage.*your claude-box in $project (launcher pid $launcher, running)" "$scratch/err-2" &&
        is "$box_name" "$(cat "$scratch/name")" && "$cage" stop "$box_name" && ends 143
}
t "a name in use is a fault that says by whom" in_use

in_use_by_a_stranger() {
    docker create --name "$box_name" debian:trixie-slim true && at_exit docker rm "$box_name" || return
    launch "$box" --engine none --name "$box_name" --exec true
    docker rm "$box_name"
    faulted 1 usage "a container that is no box" && grep -q 'of image debian:trixie-slim, created' "$scratch/err"
}
t "also if that is no box" in_use_by_a_stranger

of_the_dead() {
    begin "$box_name" sh -c 'touch up; exec sleep 100' && kill -9 "$launcher" || return
    launch "$box" --engine none --name "$box_name" --exec true
    ended 0 && no_box && not [ -e "$scratch/name" ]
}
t "the name of a dead launcher's box is free, and its name file goes" of_the_dead

by_default() {
    launch "$box" --engine none --name-file "$scratch/name" --exec sh -c 'sleep 0.1'
    ended 0 && not [ -e "$scratch/name" ] || return
    launch "$box" --dry-run=json --exec true
    grep -Eq "\"name\": \"claude-box-$(basename "$project")-[a-z2-7]{8}\"" "$scratch/out"
}
t "the default is LABEL-PROJECT-RANDOM" by_default

unwritable() {
    launch "$box" --engine none --name-file "$scratch/no/such/folder/name" --exec sh -c 'exit 3'
    ended 3 && grep -q '^\[claude-box\] WARNING: --name-file: ' "$scratch/err" || return
    mkdir "$scratch/folder" && launch "$box" --engine none --name-file "$scratch/folder" --exec sh -c 'exit 4'
    ended 4 && is 1 "$(grep -c WARNING "$scratch/err")" && [ -d "$scratch/folder" ]
}
t "a name file that cannot be written is a warning" unwritable

of_the_harness() {
    launch "$box" --dry-run=json -- --name x
    tr -d ' \n' <"$scratch/out" | has '"--name","x"\]' && not grep -q '"name": "x"' "$scratch/out"
}
t "behind -- a --name is the harness's" of_the_harness
finish
