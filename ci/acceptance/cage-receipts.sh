#!/usr/bin/env bash
# Every run leaves a receipt, also one that fails or is signalled; the debug
# output says what is done and how long it takes. Neither has a secret in it.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

cage=$root/bin/cage
project=$(new_project)
export GH_TOKEN=s3cret-of-this-test
t "the image is there" in_box "$project" true

state=$XDG_STATE_HOME/agent-cage/receipts
newest() { "$cage" receipts show "$("$cage" receipts list --limit 1 | awk '$1 ~ /^20/ { print $1 }')" >"$scratch/receipt" && cat "$scratch/receipt"; }
says() { grep -q -- "$1" "$scratch/receipt" || { echo "no $1"; return 1; }; }

of_a_run() {
    launch "$box" --engine none --exec sh -c 'exit 5'
    ended 5 && newest && says '"status": 5' && says "\"dir\": \"$project\"" && says '"name": "handshake"' && says '"name": "run"' &&
        says '"id": "sha256:' && says '"name": "GH_TOKEN"' && not grep -q '"fault"' "$scratch/receipt" &&
        is '' "$(find "$state" -name '*.json' ! -perm 600)"
}
t "a run leaves a receipt, mode 0600" of_a_run

# versions: of all that took part, and the images from the harness's down.
versions() {
    local field
    for field in launcher harness engine api kernel endpoint source id version; do
        says "\"$field\": \"[^\"]" || return
    done
    is "$(docker version -f '{{.Server.Version}} {{.Server.KernelVersion}}') $(docker info -f '{{.ID}}')" \
        "$(value engine) $(value kernel) $(docker_id)" &&
        is "$(docker image inspect -f '{{.Id}}' claude-box cage-base)" "$(sed -n '/"images"/,/\]/s/.*"id": "\(.*\)",/\1/p' "$scratch/receipt")" &&
        is 2 "$(sed -n '/"images"/,/\]/p' "$scratch/receipt" | grep -c '"version": "[0-9a-f]*"')"
}
value() { sed -n "/\"versions\": {/,/}/s/.*\"$1\": \"\(.*\)\".*/\1/p" "$scratch/receipt"; }
docker_id() { sed -n '/^  "engine": {/,/}/s/.*"id": "\(.*\)".*/\1/p' "$scratch/receipt"; }
t "versions and images that took part" versions

no_call_for_it() {
    CLAUDE_BOX_DEBUG=1 launch "$box" --engine none --exec true
    is '' "$(grep -o 'engine: Info' "$scratch/err")" && newest && versions
}
t "also where the engine is not asked for them again" no_call_for_it

of_memory() {
    launch "$box" --engine none --memory 64m --exec sh -c 'exec tail /dev/zero'
    cat "$scratch/err"
    faulted 137 out-of-memory && newest && says '"oomKilled": true' && says '"kind": "out-of-memory"' && says '"status": 137'
}
t "want of memory" of_memory

# Whether somebody listens at the gateway does not matter.
of_the_network() {
    launch "$box" --engine none --exec bash -c 'gateway=$(ip route | sed -n "s/^default via \([^ ]*\).*/\1/p")
        for n in 1 2 3; do echo >"/dev/tcp/$gateway/9"; done; sleep 4' 2>/dev/null
    newest && is 1 "$(awk -F'[:,]' '/"sentBytes"/ { print ($2 > 100) }' "$scratch/receipt")" && says '"receivedBytes"' && says '"at": "20'
}
no_network_of_its_own() {
    launch "$box" --engine none --network none --exec sleep 4
    ended 0 && newest && not grep -q sentBytes "$scratch/receipt"
}
t "what was moved over the network" of_the_network
t "nothing of a box without interfaces" no_network_of_its_own

of_a_fault() {
    launch "$box" --engine none --exec no-such-harness
    faulted 127 harness-not-executable && newest && says '"kind": "harness-not-executable"' && says '"status": 127'
}
t "so does one that fails" of_a_fault

of_a_signal() {
    (cd "$project" && exec "$box" --engine none --exec sh -c 'touch up; exec sleep 100' </dev/null >"$scratch/out" 2>"$scratch/err") &
    local launcher=$!
    status=0
    appears "$project/up" && kill -TERM $launcher || return
    wait $launcher || status=$?
    ended 143 && newest && says '"status": 143' && says '"signal": "SIGTERM"'
}
t "and one that is signalled" of_a_signal

none_of_a_dry_run() {
    local before
    before=$(find "$state" -name '*.json' | wc -l)
    launch "$box" --dry-run --exec true
    is "$before" "$(find "$state" -name '*.json' | wc -l)"
}
t "a dry run leaves none" none_of_a_dry_run

debug() {
    CLAUDE_BOX_DEBUG=1 launch "$box" --engine none --exec true "$GH_TOKEN"
    cat "$scratch/err"
    local text
    for text in 'state mount' 'plan: project' 'phase handshake: ' 'engine: ContainerCreate: '; do
        grep -q "debug: $text" "$scratch/err" || { echo "no $text"; return 1; }
    done
    launch "$box" --engine none --exec true
    is '' "$(cat "$scratch/err")"
}
t "debug output, off by default" debug

no_secret() { newest >/dev/null && not grep -rq "$GH_TOKEN" "$scratch/err" "$state"; }
leaks() {
    CLAUDE_BOX_DEBUG=1 launch "$box" --engine none --exec true "$GH_TOKEN"
    newest && says '"\$GH_TOKEN"' && no_secret
}
t "no secret in either" leaks
finish
