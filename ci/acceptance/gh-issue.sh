#!/usr/bin/env bash
# gh-issue against a local server that speaks GitHub's API, over http on
# loopback and over TLS; as a green helper of the gate; and in a real Claude
# Code session, which opens an issue without being asked.
#
# The session needs root, for the managed settings in a mount namespace of its
# own, and the client: CLAUDE names it, else it is looked for on PATH.
# shellcheck source-path=SCRIPTDIR source=lib.sh
export TMPDIR=/var/tmp # outside the zone, as a home is
. "$(dirname "$0")/lib.sh"

claude=${CLAUDE:-$(command -v claude)}
home=$scratch/home project=$scratch/home/projects/app tools=$scratch/home/work
settings=$home/.config/agent-cage
bin=$scratch/bin
mkdir -p "$bin" "$project" "$tools" "$settings" "$scratch/clients"
chmod 755 "$bin" "$tools"
for name in sbox cage-gate gh-issue github-server; do
    from=./cmd/$name
    [ "$name" = github-server ] && from=./ci/github-server
    (cd "$root" && CGO_ENABLED=0 go build -o "$bin/$name" "$from") || exit 1
done
mv "$bin/gh-issue" "$tools/gh-issue"
gh=$tools/gh-issue
token=ghp_acceptance0123456789
unset GH_ISSUE_REPO GITHUB_TOKEN GH_TOKEN SSL_CERT_FILE SSL_CERT_DIR

# github NAME ARGUMENT...: starts a server; its URL goes to $scratch/NAME.
github() {
    local name=$1 tries=0
    shift
    "$bin/github-server" --token "$token" --url-file "$scratch/$name" "$@" >"$scratch/$name.log" 2>&1 &
    at_exit kill $!
    until [ -s "$scratch/$name" ]; do
        tries=$((tries + 1))
        [ $tries -le 100 ] || return 1
        sleep 0.1
    done
}

configure() {
    printf "helpers = ['~/work/gh-issue']\n[github]\nrepositories = ['acme/app']\nurl = '%s'\n%s\n" "$1" "${2:-}" >"$settings/gate.toml"
    chmod 600 "$settings/gate.toml"
}

# gh_in ARGUMENT...: the helper, in the project.
gh_in() { (cd "$project" && exec "$gh" --repo acme/app "$@"); }

# says TEXT COMMAND...: its output has the text in it, whatever its status.
says() {
    local want=$1 out
    shift
    out=$("$@" 2>&1)
    [[ $out == *"$want"* ]] && return
    printf 'want: %s\ngot:  %s\n' "$want" "$out"
    return 1
}

# ends STATUS COMMAND...: it ends with that status.
ends() {
    local want=$1 got=0
    shift
    "$@" || got=$?
    is "$want" "$got"
}

order() { curl -fsS --noproxy '*' "$plain/_$1"; }

github plain || exit 1
github tls --ca-file "$scratch/ca.pem" || exit 1
plain=$(cat "$scratch/plain") tls=$(cat "$scratch/tls")
configure "$plain" 'plain-loopback = true'
echo "$token" >"$settings/github-token"
chmod 600 "$settings/github-token"
printf 'Steps:\n\n1. run\n' >"$project/body.md"

t "an issue is opened" says "opened #2 $plain/acme/app/issues/2" gh_in create --title "It's broken" --body-file body.md --label bug
t "and listed" says $'#2\topen\tIt\'s broken\tbug\t' gh_in list
t "and shown with its text" says '1. run' gh_in view 2
t "and commented on" says 'commented on #2' gh_in comment 2 --body-file body.md
t "and labelled" says '  bug, later' gh_in label 2 --add later
t "and closed" says 'closed #2' gh_in close 2 --reason completed
t "and opened again" says 'reopened #2' gh_in reopen 2
t "a branch is linked to it" says 'made branch 2-mend from main, linked to #2' gh_in link-branch 2 --branch 2-mend
t "a pull request is opened" says "opened #3 $plain/acme/app/pull/3" gh_in pr-create --title 'Mend it' --head topic --body-file body.md
t "and listed" says $'#3\topen\tMend it' gh_in pr-list
t "and shown" says 'acme:topic into main' gh_in pr-view 3
t "and its diff" says '+new' gh_in pr-diff 3
t "and commented on as an issue" says 'commented on #3' gh_in comment 3 --body-file body.md
t "and closed as an issue" says 'closed #3' gh_in close 3
t "--json says the same" says '"kind": "issue",' gh_in view 2 --json
t "GH_ISSUE_REPO names the repository" says '#2' env GH_ISSUE_REPO=acme/app "$gh" list

on_terminal() {
    local out
    out=$(cd "$project" && script -qec "'$gh' --repo acme/app $1" /dev/null | tr -d '\r')
    printf '%q\n' "$out"
    [[ $out == *trouble* ]] && ! grep -qP '[^\n\t\x20-\x7e]' <<<"$out"
}
t "what others wrote is cleaned on a terminal" on_terminal list
t "and their text too" on_terminal 'view 1'

t "no merge: usage, status 2" ends 2 gh_in pr-merge 3
t "a failure is status 1" ends 1 gh_in view 99
t "another repository is refused" says 'evil/app is not among the repositories' "$gh" --repo evil/app list
order seen >/dev/null
mkdir -p "$home/.ssh"
echo key >"$home/.ssh/id"
ln -s "$home/.ssh/id" "$project/link"
t "a body outside the zone is refused" says 'not in the zone' gh_in comment 2 --body-file "$home/.ssh/id"
t "a body behind a symlink is refused" says 'a symlink' gh_in comment 2 --body-file link
chmod 644 "$settings/github-token"
t "a token that others can read is refused" says 'mode 0644' gh_in list
chmod 600 "$settings/github-token"
t "none of these sent anything" is '' "$(order seen)"
order fail/rate
t "a rate limit says when it resets" says "it resets at $(date -u +%Y-%m-%dT)" gh_in list
order fail/secondary
t "and the secondary one" says 'in 1m0s' gh_in close 2
order fail/moved
t "a redirect to another host is not followed" says 'redirected to http://127.0.0.2:1/' gh_in list
order fail/401
t "a token that is not accepted" says 'does not accept the token' gh_in list

configure "$tls"
t "TLS: a certificate that nobody vouches for is refused" says 'certificate' gh_in list
t "TLS: with its certificate from outside the zone" says $'#1\topen' env SSL_CERT_FILE="$scratch/ca.pem" "$gh" --repo acme/app list
cp "$scratch/ca.pem" "$project/ca.pem"
t "TLS: with one from the zone: refused" says 'in the zone' env SSL_CERT_FILE="$project/ca.pem" "$gh" --repo acme/app list
configure "$plain"
t "plain http without plain-loopback is refused" says 'is not https' gh_in list
configure "$plain" 'plain-loopback = true'

# class COMMAND: what the gate says it is.
class() { (cd "$project" && env -i HOME="$home" PATH="$bin:/usr/bin:/bin" "$bin/cage-gate" classify "$1" | cut -f1,2); }
line="$gh create --title 'It is broken' --body-file body.md --repo acme/app"
t "by its absolute path it is green" is $'green\thelper' "$(class "$line")"
t "by its name it is gated" is $'gated\tplain-command' "$(class "gh-issue list")"
t "with an expansion it is gated" is $'gated\texpansion' "$(class "$gh view \$N")"
chmod 757 "$gh"
t "writable by others it is gated" is $'gated\thelper-unsafe' "$(class "$line")"
chmod 755 "$gh"

bash_call() { printf '{"call": "Bash", "input": {"command": "%s", "description": "x"}}' "$1"; }
turn() { printf '{%s "reply": [%s]}' "$1" "$2"; }
expect() { printf '"expect": {"result": ["%s"]},' "$1"; }

# session RESULT: Claude Code writes a body, opens an issue with the helper, for
# which it sees that result, and tries it by its name, which nobody is there to
# approve.
session() {
    printf '{"turns": [%s, %s, %s, {%s "reply": [{"text": "Done."}]}]}' \
        "$(turn '' '{"call": "Write", "input": {"file_path": "{{cwd}}/report.md", "content": "Seen by the agent.\n"}}')" \
        "$(turn "$(expect 'created successfully')" "$(bash_call "$gh create --title 'By the agent' --body-file report.md --repo acme/app")")" \
        "$(turn "$(expect "$1")" "$(bash_call 'gh-issue list --repo acme/app')")" \
        "$(expect 'put sbox before the command')" >"$scratch/turns.json"
    start_server "$scratch/turns.json" || return
    export claude project home bin scratch
    unshare --mount bash -s <<'NAMESPACE' || return
set -e
mkdir -p /etc/claude-code
mount -t tmpfs gate /etc/claude-code
mount --bind "$(dirname "$(dirname "$(readlink -f "$claude")")")" "$scratch/clients"
cat >/etc/claude-code/managed-settings.json <<SETTINGS
{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "timeout": 20,
  "command": "'$bin/cage-gate' hook claude || { echo 'cage-gate: failed' >&2; exit 2; }"}]}]}}
SETTINGS
cd "$project"
exec env -i TERM=dumb PATH="$bin:/usr/bin:/bin" HOME="$home" IS_SANDBOX=1 \
    ANTHROPIC_BASE_URL="$ANTHROPIC_BASE_URL" ANTHROPIC_API_KEY=sk-scripted-0123456789 \
    timeout 120 "$scratch/clients/$(basename "$(dirname "$(readlink -f "$claude")")")/$(basename "$(readlink -f "$claude")")" -p hi </dev/null
NAMESPACE
    stop_server
}

if [ -z "$claude" ]; then
    skip "a real session" "Claude Code is not installed; CLAUDE names it"
elif [ "$(id -u)" != 0 ]; then
    skip "a real session" "root's managed settings need root"
else
    t "a real session opens an issue and is not asked" session 'opened #4'
    t "the issue is there, with its text" says 'Seen by the agent.' gh_in view 4
    sed -i /^helpers/d "$settings/gate.toml"
    rm "$project/report.md"
    t "where the helper is not in the settings it is" session 'put sbox before the command'
    t "and there is no other issue" ends 1 gh_in view 5
fi
finish
