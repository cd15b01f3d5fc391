#!/usr/bin/env bash
# What the engine in the box costs: its first answer beside that of a bare
# rootless engine in the same image, and a box whose engine sleeps beside one
# without. Figures are of the best of some runs: the machine may be busy.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

t "the launcher is built" tool toy-box
toy=$tools/toy-box
project=$(new_project) && chmod 0755 "$project"
rounds=${ROUNDS:-4}
forget() { docker volume ls -q --filter label=dev.agent-cage.kind=engine-cache --filter "label=dev.agent-cage.project=$project" | xargs -r docker volume rm; }
at_exit forget

in_toy() { (cd "$project" && exec "$toy" "$@") 2>"$scratch/err"; }

# Milliseconds until the engine answers.
first='began=$(date +%s%N); until docker info >/dev/null 2>&1; do :; done; echo $((($(date +%s%N) - began) / 1000000))'

ours() { in_toy --engine rootless --engine-cache=off --exec bash -c "$first"; }

in_toy --engine rootless --dry-run=docker --exec true >"$scratch/docker"
bare() {
    local script options
    script='set -e; echo "bare:x:1000:1000::/tmp:/bin/sh" >>/etc/passwd; echo "bare:x:1000:" >>/etc/group
        echo bare:100000:65536 >/etc/subuid; echo bare:100000:65536 >/etc/subgid
        mkdir /tmp/run /var/lib/agent-cage/data; chown 1000:1000 /tmp/run /var/lib/agent-cage/data
        export HOME=/tmp XDG_RUNTIME_DIR=/tmp/run DOCKER_HOST=unix:///tmp/run/docker.sock
        exec setpriv --reuid 1000 --regid 1000 --clear-groups bash -c '\''
            dockerd-rootless.sh --data-root /var/lib/agent-cage/data --log-level warn >/tmp/run/log 2>&1 & '"$first"\'
    options=$(sed -E 's/^docker run --interactive//; s/ --name=[^ ]*//; s/--network=[^ ]*//' "$scratch/docker")
    # The same box, with the project's volume replaced by one of its own.
    options=$(sed -E 's/--mount=type=volume,[^ ]*/-v \/var\/lib\/agent-cage/' <<<"${options% *}")
    eval "docker run --rm $options --entrypoint bash cage-base -c $(printf %q "$script")"
}

# best COMMAND: the least number that it prints.
best() {
    local n least='' round
    for ((round = 0; round < rounds; round++)); do
        n=$("$@") || return
        [[ $n =~ ^[0-9]+$ ]] || { echo "it says: $n" >&2; return 1; }
        [ -n "$least" ] && [ "$n" -ge "$least" ] || least=$n
    done
    echo "$least"
}

# within RATIO A B: A is at most that many hundredths of B.
within() {
    echo "$2 against $3: $(($2 * 100 / $3)) %"
    [ $(($2 * 100)) -le $(($1 * $3)) ]
}

first_answer() {
    local us them
    if ! us=$(best ours) || ! them=$(best bare); then
        cat "$scratch/err"
        return 1
    fi
    echo "$us ms against $them ms" >"$scratch/figure"
    within 120 "$us" "$them"
}
t "the first answer takes at most 1.2 of a bare engine's" first_answer
echo "# first answer: $(cat "$scratch/figure" 2>/dev/null)"

start() {
    local began
    began=$(date +%s%N)
    in_toy --engine "$1" --exec true && echo $((($(date +%s%N) - began) / 1000000))
}
start_time() {
    start rootless && start none || return
    local with without
    with=$(best start rootless) && without=$(best start none) || return
    echo "$with ms against $without ms" >"$scratch/figure"
    within 115 "$with" "$without"
}
t "a box whose engine sleeps starts as fast as one without" start_time
echo "# start: $(cat "$scratch/figure" 2>/dev/null)"

# resident POSTURE: KiB of cage-init, which is all that an engine asleep has.
resident() {
    (cd "$project" && exec "$toy" --engine "$1" --name "cost-$$" --exec sleep 100) >"$scratch/log" 2>&1 &
    local tries=0 kib
    until docker exec "cost-$$" test -s /run/agent-cage/harness 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || return
        sleep 0.1
    done
    sleep 1
    kib=$(docker exec "cost-$$" awk '/^(RssAnon|RssFile):/ { sum += $2 } END { print sum }' /proc/1/status)
    docker kill "cost-$$" >/dev/null
    wait
    echo "$kib"
}
memory() {
    local with without
    with=$(resident rootless) && without=$(resident none) || return
    echo "$with KiB against $without KiB" >"$scratch/figure"
    echo "$with KiB against $without KiB"
    [ $((with - without)) -lt 2048 ]
}
t "an engine that sleeps takes less than 2 MiB" memory
echo "# memory of the box's init: $(cat "$scratch/figure" 2>/dev/null)"
finish
