#!/usr/bin/env bash
# When an image is built, when it is not, and what its caller sees of that.
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

project=$(new_project)
toy=$tools/toy-box
# An image of the caller's own, the third of a chain, is cheap to build.
context=$scratch/context
mkdir "$context"
echo one >"$context/file"
printf 'FROM agent-cage-toy\nCOPY file /file\nRUN sleep 0\n' >"$context/Dockerfile"
own() { launch "$toy" --engine none --dockerfile "$context/Dockerfile" "$@"; }
id() { docker image inspect --format '{{.Id}}' "$1"; }
inputs() { docker image inspect --format '{{index .Config.Labels "dev.agent-cage.inputs"}}' "$1"; }
built() { grep -q "\] building $1\$" "$scratch/err"; }
nothing_built() { not grep -q '\] building ' "$scratch/err"; }

made() {
    tool toy-box faulty-engine ptytest && own 0 && ended 0 && image=$(built_image) && at_exit docker rmi "$image" &&
        launch "$toy" --engine none 0 && ended 0
}
t "a chain of images is built" made

## Up to date.
# The requests of a warm launch about images: one, for all of the chain.
one_question() {
    "$tools/faulty-engine" --listen "$scratch/proxy.sock" --engine "$engine_socket" --log "$scratch/calls" --rule 'GET /never lose' &
    local pid=$!
    appears "$scratch/proxy.sock" && DOCKER_HOST=unix://$scratch/proxy.sock own 0 # asks the engine what it is
    : >"$scratch/calls"
    DOCKER_HOST=unix://$scratch/proxy.sock own 0
    kill $pid
    wait $pid 2>/dev/null
    cat "$scratch/calls"
    ended 0 && nothing_built && is 1 "$(grep -c /images/ "$scratch/calls")" && grep -qx 'GET /images/json' "$scratch/calls" &&
        not grep -qE ' /(build|grpc|session)' "$scratch/calls"
}
t "up to date is one question to the engine" one_question

# What each phase and each call takes, of five warm launches.
measure() {
    for _ in 1 2 3 4 5; do
        TOY_BOX_DEBUG=1 launch "$toy" --engine none 1
        ended 1 || return
        sed -nE 's/.*debug: ((phase|engine:) [A-Za-z]+): ([0-9.]+)(µs|ms|s)$/\1 \3 \4/p' "$scratch/err"
    done >"$scratch/times"
    [ -n "$(middle 'phase build')" ] && [ -n "$(middle 'engine: ImageList')" ]
}
# middle NAME: the middle one of its times, in milliseconds.
middle() {
    grep "^$1 " "$scratch/times" | awk '{ print $3 * ($4 == "s" ? 1000 : $4 == "ms" ? 1 : 0.001) }' | sort -n | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'
}
t "what each call of a warm launch costs is measured" measure
echo "# up-to-date check: $(middle 'phase build') ms; at most 30 ms are wanted"
sed -n 's/^engine: \([A-Za-z]*\) .*/\1/p' "$scratch/times" | sort -u | while read -r call; do
    echo "# $call: $(middle "engine: $call") ms"
done

same_again() {
    touch "$context/file" "$context/Dockerfile" && own 0 && ended 0 && nothing_built
}
t "new times of the same files build nothing" same_again

## What makes an image stale.
# rebuilds COMMAND...: after it the image is another one, made once.
rebuilds() {
    local before was
    before=$(id "$image") was=$(inputs "$image")
    "$@" && own 0 && ended 0 && built "$image" && not is "$before" "$(id "$image")" && not is "$was" "$(inputs "$image")" &&
        own 0 && ended 0 && nothing_built
}
another_file() { echo two >"$context/file"; }
another_line() { echo 'RUN true' >>"$context/Dockerfile"; }
executable() { chmod +x "$context/file"; }
another_name() { mv "$context/file" "$context/file-2" && sed -i 's/COPY file /COPY file-2 /' "$context/Dockerfile"; }
# The parent has its labels, and another ID.
another_parent() {
    docker tag agent-cage-toy agent-cage-toy:whole && at_exit docker tag agent-cage-toy:whole agent-cage-toy && at_exit docker rmi agent-cage-toy:whole &&
        printf 'FROM agent-cage-toy:whole\nRUN touch /other\n' | DOCKER_BUILDKIT=0 docker build --network none -q -t agent-cage-toy -
}
t "another content of a file" rebuilds another_file
t "another mode of a file" rebuilds executable
t "another name of a file" rebuilds another_name
t "another line of the Dockerfile" rebuilds another_line
t "another ID of the parent" rebuilds another_parent
docker tag agent-cage-toy:whole agent-cage-toy 2>/dev/null
# Bytes behind the end of a program change nothing in it.
another_binary() {
    cp -r "$AGENT_CAGE_LIBEXEC" "$scratch/libexec" && printf '%s' "$$" >>"$scratch/libexec/sbox" || return
    local before
    before=$(id cage-base)
    AGENT_CAGE_LIBEXEC=$scratch/libexec own 0
    ended 0 && built cage-base && built agent-cage-toy && built "$image" && not is "$before" "$(id cage-base)"
}
t "another in-box binary, for the whole chain" another_binary
usual_again() {
    own 0 && ended 0 && built cage-base && own 0 && nothing_built
}
t "and back" usual_again

# What may lie beside a Dockerfile.
whole_context() {
    mkdir -p "$scratch/whole/sub" && echo one >"$scratch/whole/sub/file" && echo left >"$scratch/whole/left-out" && echo left-out >"$scratch/whole/.dockerignore" &&
        ln -s sub/file "$scratch/whole/inside" && ln -s /etc/no-such-file "$scratch/whole/outside" &&
        printf 'FROM agent-cage-toy\nCOPY . /whole\n' >"$scratch/whole/Dockerfile" || return
    launch "$toy" --engine none --dockerfile "$scratch/whole/Dockerfile" --exec sh -c 'cd /whole && cat inside && readlink outside && ls'
    ended 0 && at_exit docker rmi "$(built_image)" && is "one /etc/no-such-file Dockerfile inside outside sub" "$(paste -sd ' ' "$scratch/out")"
}
t "links and a .dockerignore beside a Dockerfile" whole_context

## What the caller's Dockerfile says of how the image starts does not count.
started_otherwise() {
    printf 'FROM agent-cage-toy\nRUN touch /made\n%s\n' "$1" >"$context/Dockerfile"
    launch "$toy" --engine none --dockerfile "$context/Dockerfile" --exec sh -c 'test -e /made && id -u && exit 7'
    ended 7 && is "$(stat -c %u "$project" | sed 's/^0$/1000/')" "$(cat "$scratch/out")"
}
t "a Dockerfile that ends with another user" started_otherwise 'USER 1000'
t "one with an entry point and a command of its own" started_otherwise 'ENTRYPOINT ["sleep", "60"]
CMD ["60"]'
t "one with a health check" started_otherwise 'HEALTHCHECK --interval=1s CMD touch /tmp/healthy'
not_on_the_box() {
    printf 'FROM debian:trixie-slim\nRUN touch /made\n' >"$context/Dockerfile"
    own 0
    faulted 126 engine-start-failed "begin $context/Dockerfile with FROM agent-cage-toy" && no_box
}
t "one that does not begin with the box's image" not_on_the_box

## Two at once, and one that dies.
slowly() { printf 'FROM agent-cage-toy\nRUN echo %s; sleep %s\n' "$1" "$2" >"$context/Dockerfile"; }
slow_step() { pgrep -fx "sleep $1" >/dev/null; }
until_true() {
    local tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || return
        sleep 0.1
    done
}
background() {
    (cd "$project" && exec "$toy" --engine none --dockerfile "$context/Dockerfile" 0) >"$scratch/out.$1" 2>"$scratch/err.$1" &
}
two_at_once() {
    local one two
    slowly "two-$$" 4 || return
    background 1 && one=$!
    background 2 && two=$!
    wait $one && wait $two || return
    cat "$scratch"/err.[12]
    is 1 "$(cat "$scratch"/err.[12] | grep -c "\] building $image\$")" &&
        is 1 "$(cat "$scratch"/err.[12] | grep -c "\] waiting for another build of $image\$")"
}
t "of two launchers one builds and the other waits, and says so" two_at_once
dead_builder() {
    local victim began=$SECONDS
    slowly "dead-$$" "6$$" || return
    background 1 && victim=$!
    until_true slow_step "6$$" && kill -9 "$victim"
    wait "$victim" 2>/dev/null
    slowly "dead-$$" 0 && own 0
    ended 0 && built "$image" && not grep -q 'waiting for' "$scratch/err" && [ $((SECONDS - began)) -lt 40 ]
}
t "the lock of a builder that is dead blocks nobody" dead_builder

## Ctrl-C.
ctrl_c() {
    local before
    before=$(id "$image")
    slowly "stopped-$$" "7$$" || return
    printf 'wait sleep 7%s\npause 1s\nsend "\\x03"\nwait fault=engine-start-failed detail="interrupted by signal interrupt\nend 126\n' $$ >"$scratch/keys"
    (cd "$project" && "$tools/ptytest" --script "$scratch/keys" -- "$toy" --engine none --dockerfile "$context/Dockerfile" 0) || return
    is "$before" "$(id "$image")" && until_true not slow_step "7$$" && no_box
}
old_image_works() { docker run --rm --entrypoint true "$image"; }
t "Ctrl-C stops a build" ctrl_c
t "and leaves the old image" old_image_works

## What is shown.
a_line_a_step() {
    printf 'FROM agent-cage-toy\nRUN echo first %s\nRUN echo second\n' $$ >"$context/Dockerfile"
    own 0 && ended 0 && is 1 "$(grep -c '^\[2/3\] RUN echo first' "$scratch/err")" && is 1 "$(grep -c '^\[3/3\] RUN echo second' "$scratch/err")" &&
        not grep -q '^first' "$scratch/err" && is 5 "$(grep -c . "$scratch/err")"
}
t "one line a step, where there is no terminal" a_line_a_step
whole_log() {
    printf 'FROM agent-cage-toy\nRUN seq -f "line-%%g-of-%s" 1 300; exit 3\n' $$ >"$context/Dockerfile"
    own 0
    faulted 125 image-missing "exit code: 3" && is 300 "$(grep -o "line-[0-9]*-of-$$\$" "$scratch/err" | sort -u | wc -l)"
}
t "the whole log of a step that fails" whole_log
on_terminal() {
    printf 'FROM agent-cage-toy\nRUN echo shown %s\n' $$ >"$context/Dockerfile"
    printf 'wait \\[\\+\\] Building .*FINISHED\nend 0\n' >"$scratch/keys"
    (cd "$project" && "$tools/ptytest" --size 40x100 --script "$scratch/keys" -- "$toy" --engine none --dockerfile "$context/Dockerfile" 0)
}
t "BuildKit's own display on a terminal" on_terminal

## The pinned version, on a launcher with a small package and an old pin of it.
pinned=$scratch/bin/pinned-box
pinned_files() {
    mkdir -p "$scratch/overlay" "$scratch/bin" || return
    sed -e 's/toy-box/pinned-box/; s/TOY_BOX/PINNED_BOX/; s/agent-cage-toy/agent-cage-pinned/' \
        -e 's|^\t"github.com/agent-cage/agent-cage/libcage/launch"|\t"github.com/agent-cage/agent-cage/images"\n&|' \
        -e 's|Files: files}|Files: files, Pin: \&images.Pin{Package: "is-number", Version: "6.0.0", Archives: map[string]images.Archive{"amd64": old, "arm64": old}}}|' \
        -e '$a var old = images.Archive{Package: "is-number@6.0.0", Integrity: "'"${1:-sha512-Wu1VHeILBK8KAWJUAiSZQX94GmOE45Rg6/538fKwiloUu21KncEkYGPqob2oSZ5mUT73vLGrHQjKw3KMPwfDzg==}"'", Members: []string{"package.json"}}' \
        "$root/ci/toy-box/main.go" >"$scratch/overlay/main.go" || return
    cat "$root/ci/toy-box/image/Dockerfile" - >"$scratch/overlay/Dockerfile" <<'EOF' || return
ARG PACKAGE
ARG INTEGRITY
ARG MEMBERS
RUN --mount=type=cache,id=agent-cage-npm-pinned,target=/mnt,sharing=locked \
    --mount=type=secret,id=ca,target=/dev/ca-bundle.crt \
    if [ -s /dev/ca-bundle.crt ]; then export NODE_EXTRA_CA_CERTS=/dev/ca-bundle.crt; fi; \
    /usr/local/libexec/agent-cage/npm-binary "$PACKAGE" "$INTEGRITY" /opt $MEMBERS
EOF
    # shellcheck disable=SC2016 # the toy's argument
    printf '#!/bin/sh\nsleep "${2:-0}"\nsed -n "s/.*\\"version\\": //p" /opt/package.json\n' >"$scratch/overlay/toy"
    jq -n --arg from "$root/ci/toy-box" --arg to "$scratch/overlay" \
        '{Replace: {($from + "/main.go"): ($to + "/main.go"), ($from + "/image/Dockerfile"): ($to + "/Dockerfile"), ($from + "/image/toy"): ($to + "/toy")}}' \
        >"$scratch/overlay.json" &&
        (cd "$root" && go build -overlay "$scratch/overlay.json" -o "$pinned" ./ci/toy-box)
}
# Its pins are in a state directory of its own.
pinned() { XDG_STATE_HOME=$scratch/state launch "$pinned" --engine none "$@"; }
pins=$scratch/state/agent-cage/pins/agent-cage-pinned
old_version() {
    pinned_files && at_exit docker rmi agent-cage-pinned && pinned && ended 0 && is '"6.0.0",' "$(cat "$scratch/out")"
}
t "a launcher with an old pin builds the old version" old_version
offline() {
    local before
    before=$(id agent-cage-pinned)
    pinned --network none --upgrade
    faulted 125 image-missing "npm" && is "$before" "$(id agent-cage-pinned)" && not test -e "$pins.pin.json" && no_box
}
t "--upgrade without a network is an error, and changes nothing" offline
upgrade() {
    local newest integrity
    pinned --upgrade
    ended 0 || return
    newest=$(jq -r .version "$pins.pin.json") integrity=$(jq -r .archives.amd64.integrity "$pins.pin.json")
    is "the toy $newest, before 6.0.0" "$(cat "$scratch/out")" && built agent-cage-pinned || return
    is 95 "${#integrity}" && pinned && ended 0 && nothing_built && is "\"$newest\"," "$(cat "$scratch/out")"
}
t "--upgrade moves to the newest version, with its hash, and builds it" upgrade
upgraded() { pinned --upgrade && ended 0 && nothing_built && grep -q 'is the newest version$' "$scratch/out"; }
t "a second --upgrade has nothing to do" upgraded
# The root directory is no project, and a home directory neither.
anywhere() { project=/ upgraded && project=$HOME upgraded; }
t "--upgrade needs no project" anywhere
forged() {
    rm -r "$scratch/state" && pinned_files "sha512-$(printf '%086d' 0)==" && docker rmi agent-cage-pinned && pinned
    faulted 125 image-missing "agent-cage-pinned" && grep -q 'is-number@6.0.0 has integrity sha512-Wu1V.*, pinned is sha512-000' "$scratch/err"
}
t "what is not what was pinned is not built" forged

## News of it.
# with_terminal: runs the launcher at one and leaves what it shows in $scratch/screen.
with_terminal() {
    printf 'end 0\n' >"$scratch/keys"
    (cd "$project" && XDG_STATE_HOME=$scratch/state "$tools/ptytest" --size 40x200 --out "$scratch/screen" --script "$scratch/keys" -- "$pinned" --engine none "$@")
}
found_in_the_background() {
    rm -rf "$scratch/state" && pinned_files || return
    # Once to build it: what is short asks nobody.
    pinned && ended 0 && not test -e "$pins.news.json" || return
    pinned 20 && ended 0 && is 7 "$(jq -r .version "$pins.news.json" | cut -d. -f1)"
}
mentioned() {
    with_terminal && is 1 "$(grep -c "the toy 7.* is out, the box has 6.0.0: pinned-box --upgrade" "$scratch/screen")"
}
mentioned_once() { with_terminal && not grep -q 'is out' "$scratch/screen"; }
next_day() {
    jq '.mentioned = "2020-01-01T00:00:00Z"' "$pins.news.json" >"$scratch/news" && cp "$scratch/news" "$pins.news.json" && mentioned
}
# Nothing waits for a registry that does not answer.
no_wait() {
    local began=$SECONDS
    rm "$pins.news.json" && with_terminal --network none && [ $((SECONDS - began)) -lt 20 ]
}
t "a long run looks for a newer version" found_in_the_background
t "the next one at a terminal mentions it" mentioned
t "and no other on that day" mentioned_once
t "and one on the next" next_day
t "no launch waits for the network" no_wait
finish
