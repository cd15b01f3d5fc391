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
newest() { "$cage" receipts show "$("$cage" receipts list --limit 1 --json | sed -n 's/.*"id": "\(.*\)",/\1/p')" >"$scratch/receipt" && cat "$scratch/receipt"; }
says() { grep -q -- "$1" "$scratch/receipt" || { echo "no $1"; return 1; }; }

of_a_run() {
    launch "$box" --engine none --exec sh -c 'exit 5'
    ended 5 && newest && says '"status": 5' && says "\"dir\": \"$project\"" && says '"name": "handshake"' && says '"name": "run"' &&
        says '"id": "sha256:' && says '"name": "GH_TOKEN"' && not grep -q '"fault"' "$scratch/receipt" &&
        is '' "$(find "$state" -name '*.json' ! -perm 600)"
}
t "a run leaves a receipt, mode 0600" of_a_run

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
