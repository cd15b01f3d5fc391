#!/usr/bin/env bash
# The gate in real sessions: Claude Code and Codex against a scripted model,
# with the hook registered in root's managed settings. Every class in every
# mode; a hook that is killed, missing, slow or answers nothing.
#
# Needs root, for the managed settings in a mount namespace of its own, and the
# clients: CLAUDE and CODEX name them, else they are looked for on PATH.
# shellcheck source-path=SCRIPTDIR source=lib.sh
export TMPDIR=/var/tmp # outside the zone, as a home is
. "$(dirname "$0")/lib.sh"

claude=${CLAUDE:-$(command -v claude)} codex=${CODEX:-$(command -v codex)}
home=$scratch/home project=$scratch/home/projects/app
bin=$scratch/bin
mkdir -p "$bin" "$home/.config/agent-cage" "$home/.codex" "$scratch/clients"
chmod 755 "$bin"
for name in sbox cage-gate; do
    (cd "$root" && CGO_ENABLED=0 go build -o "$bin/$name" "./cmd/$name") || exit 1
done

good_hook() { echo "'$bin/cage-gate' hook $1 || { echo 'cage-gate: failed' >&2; exit 2; }"; }

# fresh MODE: an empty project, and the gate in that mode.
fresh() {
    rm -rf "$project" "$scratch/record.jsonl"
    mkdir -p "$project"
    git -C "$project" init -q
    echo hello >"$project/marker"
    printf '[user]\n\tname = A\n\temail = a@example.com\n' >"$home/.gitconfig"
    echo "mode = '$1'" >"$home/.config/agent-cage/gate.toml"
    chmod 600 "$home/.config/agent-cage/gate.toml"
}

# client HARNESS HOOK ARGUMENT...: runs it with the hook in root's settings. The
# hooks install-managed and install-user are what cage-gate install registers.
client() {
    local harness=$1
    HOOK=$2
    shift 2
    export HOOK harness claude codex project home bin scratch
    unshare --mount bash -s -- "$@" <<'NAMESPACE'
set -e
mkdir -p /etc/claude-code /etc/codex
mount -t tmpfs gate /etc/claude-code
mount -t tmpfs gate /etc/codex
# Codex puts its own folder on PATH; below /tmp that is the zone's.
mount --bind "$(dirname "$(dirname "$(readlink -f "${!harness}")")")" "$scratch/clients"
quoted=$(printf '%s' "${HOOK/#install-*/true}" | sed 's/\\/\\\\/g; s/"/\\"/g')
cat >/etc/claude-code/managed-settings.json <<SETTINGS
{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "$quoted", "timeout": 20}]}]}}
SETTINGS
cat >/etc/codex/requirements.toml <<SETTINGS
[[hooks.PreToolUse]]
matcher = ".*"
[[hooks.PreToolUse.hooks]]
type = "command"
command = "$quoted"
timeout = 20
SETTINGS
if [ "${HOOK%-*}" = install ]; then
    rm /etc/claude-code/managed-settings.json /etc/codex/requirements.toml
    (cd "$project" && env -i HOME="$home" PATH="$bin:/usr/bin:/bin" "$bin/cage-gate" install "$harness" --scope "${HOOK#install-}")
fi
cat >"$home/.codex/config.toml" <<SETTINGS
model_provider = "scripted"
model = "${CODEX_MODEL:-gpt-5.5}"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "$ANTHROPIC_BASE_URL/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
SETTINGS
cd "$project"
run=(env -i TERM=dumb PATH="$bin:/usr/bin:/bin" HOME="$home" IS_SANDBOX=1
    ANTHROPIC_BASE_URL="$ANTHROPIC_BASE_URL" ANTHROPIC_API_KEY=sk-scripted-0123456789 OPENAI_API_KEY=x timeout 120)
case $harness in
claude) exec "${run[@]}" "$scratch/clients/$(basename "$(dirname "$(readlink -f "$claude")")")/$(basename "$(readlink -f "$claude")")" "$@" -p hi </dev/null ;;
codex) exec "${run[@]}" "$scratch/clients/bin/codex" exec --skip-git-repo-check -s danger-full-access "$@" hi </dev/null ;;
esac
NAMESPACE
}

# session HARNESS HOOK TURNS: the client follows the turns to their end.
session() {
    printf '{"turns": [%s, {%s "reply": [{"text": "Done."}]}]}' "$3" "${4:-}" >"$scratch/turns.json"
    start_server "$scratch/turns.json" || return
    client "$1" "$2" || return
    stop_server
}

bash_call() { printf '{"call": "Bash", "input": {"command": "%s", "description": "x"}}' "$1"; }
write_call() { printf '{"call": "Write", "input": {"file_path": "{{cwd}}/%s", "content": "x\\n"}}' "$1"; }
exec_call() { printf '{"call": "exec_command", "input": {"cmd": "%s"}}' "$1"; }
patch_call() { printf '{"call": "apply_patch", "input": "*** Begin Patch\\n*** Add File: %s\\n+x\\n*** End Patch\\n"}' "$1"; }
turn() { printf '{%s "reply": [%s]}' "$1" "$2"; }
expect() { printf '"expect": {"result": ["%s"]},' "$1"; }

commits() { git -C "$project" log --format=%s 2>/dev/null; }
# shellcheck disable=SC2012 # the names are the script's own
files() { (cd "$project" && ls -A | sort | tr '\n' ' '); }

plain='wrap the whole of it as sbox bash'
claude_turns() { # what a plain command and a file that is executed later come to
    turn '' "$(bash_call 'sbox cat marker')"
    printf ,
    turn "$(expect hello)" "$(bash_call "git add -A && git commit -q -m 'by the agent'")"
    printf ,
    turn '' "$(write_call new.txt)"
    printf ,
    turn "$(expect 'created successfully')" "$(bash_call 'touch outside; id -u >who')"
    printf ,
    turn "$1" "$(write_call .envrc)"
    printf ,
    turn "$2" '{"call": "Read", "input": {"file_path": "{{cwd}}/marker"}}'
}

claude_mode() {
    fresh "$1"
    session claude "$(good_hook claude)" "$(claude_turns "$2" "$3")" '"expect": {"result": ["hello"]},'
}

# In audit nothing is answered: Claude Code refuses what nobody approves, and
# the record says what the gate would have done.
claude_audit() {
    fresh audit
    rm -rf "$home/.local"
    session claude "$(good_hook claude)" "$(turn '' "$(bash_call 'touch outside')")" || return
    not test -e "$project/outside" && grep -q '"code":"plain-command"' "$home/.local/state/agent-cage/gate.jsonl"
}

codex_turns() {
    turn '' "$(exec_call 'sbox cat marker')"
    printf ,
    turn "$(expect hello)" "$(exec_call "git add -A && git commit -q -m 'by the agent'")"
    printf ,
    turn "$(expect 'exited with code 0')" "$(exec_call 'touch outside; id -u >who')"
    printf ,
    turn "$1" "$(patch_call new.txt)"
    printf ,
    turn "$(expect 'Updated the following files')" "$(patch_call .envrc)"
}

codex_mode() {
    fresh "$1"
    session codex "$(good_hook codex)" "$(codex_turns "$2")" '"expect": {"result": ["executes this file later"]},'
}

# broken HARNESS HOOK: with that hook neither a command nor a file comes about.
broken() {
    local harness=$1 hook=$2 call
    fresh ask
    call=$(exec_call 'touch ran')
    [ "$harness" = codex ] || call=$(bash_call 'touch ran')
    session "$harness" "$hook" "$(turn '' "$call")" && not test -e "$project/ran"
}

# allowed HARNESS: what shows that the hooks above are what blocks.
allowed() {
    local hook=true
    [ "$1" = codex ] || hook="echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}}'"
    not broken "$1" "$hook" && test -e "$project/ran"
}

# caged HARNESS: the file of the rewritten command is there, written by a process
# that had no network and could not write outside the zone.
probe='echo x >probe; echo x >~/leak; (echo >/dev/tcp/127.0.0.1/'
caged() {
    local harness=$1 port=${ANTHROPIC_BASE_URL##*:} text
    fresh cage
    text="$probe${port:-9}) && touch reached; ls"
    if [ "$harness" = claude ]; then
        session claude "$(good_hook claude)" "$(turn '' "$(bash_call "$text")")"
    else
        session codex "$(good_hook codex)" "$(turn '' "$(exec_call "$text")")"
    fi || return
    test -e "$project/probe" && not test -e "$home/leak" && not test -e "$project/reached"
}

sound() {
    t "$1: the program killed: the call is blocked" broken "$1" \
        "sh -c 'kill -9 \$\$' || { echo 'cage-gate: failed' >&2; exit 2; }"
    t "$1: missing: the call is blocked" broken "$1" "'/nowhere/cage-gate' hook $1 || { echo 'cage-gate: failed' >&2; exit 2; }"
    t "$1: slow: blocked by the gate's own deadline" broken "$1" \
        "{ sleep 15; } | '$bin/cage-gate' hook $1 || { echo 'cage-gate: failed' >&2; exit 2; }"
    t "$1: truncated event: the call is blocked" broken "$1" \
        "head -c 40 | '$bin/cage-gate' hook $1 || { echo 'cage-gate: failed' >&2; exit 2; }"
    t "$1: registered by cage-gate install: a plain command is gated" broken "$1" install-managed
    t "$1: with a hook that allows it the command runs" allowed "$1"
}

if [ "$(id -u)" != 0 ]; then
    skip "real sessions" "root's managed settings need root"
    finish
    exit
fi
if [ -z "$claude" ]; then
    skip "Claude Code" "not installed; CLAUDE names it"
else
    for mode in ask deny; do
        t "claude, $mode: each class" claude_mode $mode "$(expect "$plain")" ''
        t "claude, $mode: green ran, the rest did not" is '.git marker new.txt ' "$(files)"
        t "claude, $mode: the commit was made in the cage" is 'by the agent' "$(commits)"
    done
    t "claude, cage: each class" claude_mode cage '' ''
    t "claude, cage: the plain command ran" is '.git marker new.txt outside who ' "$(files)"
    t "claude, cage: and could not leave" caged claude
    t "claude, audit: the client's own rules apply" claude_audit
    sound claude
    t "claude: registered for the user by cage-gate install: a plain command is gated" broken claude install-user
fi
if [ -z "$codex" ]; then
    skip "Codex" "not installed; CODEX names it"
else
    for mode in ask deny; do
        t "codex, $mode: each class" codex_mode $mode "$(expect "$plain")"
        t "codex, $mode: green ran, the rest did not" is '.git marker new.txt ' "$(files)"
        t "codex, $mode: the commit was made in the cage" is 'by the agent' "$(commits)"
    done
    t "codex, cage: each class" codex_mode cage "$(expect 'exited with code 0')"
    t "codex, cage: the plain command ran" is '.git marker new.txt outside who ' "$(files)"
    t "codex, cage: and could not leave" caged codex
    sound codex
fi
finish
