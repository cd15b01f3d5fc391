#!/usr/bin/env bash
# Hostile repositories: caged code has written the project, then the agent uses
# git. What the gate decides about each command is what is run here, and what
# the repository brings along must run in the cage or not at all. Each attack is
# shown to work where git runs without the gate.
# shellcheck source-path=SCRIPTDIR source=lib.sh
# shellcheck disable=SC2016
export TMPDIR=/var/tmp # outside the zone, as a home is
. "$(dirname "$0")/lib.sh"

bin=$scratch/bin project=$HOME/projects/app out=$scratch/out evil=$HOME/evil
mkdir -p "$bin"
chmod 755 "$bin"
for name in sbox cage-gate; do
    (cd "$root" && CGO_ENABLED=0 go build -o "$bin/$name" "./cmd/$name") || exit 1
done
printf '[user]\n\tname = A\n\temail = a@example.com\n[init]\n\tdefaultBranch = main\n' >"$HOME/.gitconfig"
# The marker lies outside the zone: from inside the cage it cannot be made.
printf '#!/bin/sh\ntouch %q/marker\nexec cat\n' "$out" >"$evil"
chmod 755 "$evil"

# What an agent does all day.
everyday=('git status' 'git add -A' 'git commit -q -m x')

# fresh SETUP: a project with a commit and a change, made hostile by SETUP.
fresh() {
    rm -rf "$HOME/projects" "$out"
    mkdir -p "$project" "$out" && cd "$project" || return
    git init -q . && echo 1 >f && git add f && git commit -q -m first && git branch other && echo 2 >f || return
    eval "$1"
}

# decided COMMAND: runs what the gate makes of it; a human would be asked about
# the rest. Counts in $ran what was run.
decided() {
    local answer command
    answer=$(printf '{"hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": "%s", "tool_input": {"command": "%s"}}' "$project" "$1" |
        env -i HOME="$HOME" PATH="$bin:/usr/bin:/bin" "$bin/cage-gate" hook claude) || return 0
    command=$(sed -n 's/.*"permissionDecision":"allow".*"updatedInput":{"command":"\([^"\\]*\)".*/\1/p' <<<"$answer")
    [ -n "$command" ] || return 0
    ran=$((ran + 1))
    echo "runs: $command"
    (cd "$project" && env -i HOME="$HOME" PATH="$bin:/usr/bin:/bin" timeout 30 bash -c "$command")
}

made() { [ -n "$(ls -A "$out")" ]; }

# works SETUP COMMAND: the attack without the gate.
works() {
    fresh "$1" || return
    (cd "$project" && env -i HOME="$HOME" PATH=/usr/bin:/bin timeout 30 bash -c "$2")
    made
}

# stopped SETUP COMMAND
stopped() {
    local command
    ran=0
    fresh "$1" || return
    for command in "$2" "${everyday[@]}"; do
        decided "$command"
        if made; then
            echo "$command got out: $(ls -A "$out")"
            return 1
        fi
    done
    # The gate refused none of the everyday ones for being in this repository.
    [ "$ran" -ge "${#everyday[@]}" ]
}

# route NAME COMMAND SETUP
route() {
    t "$1: works without the gate" works "$3" "$2"
    t "$1: stopped" stopped "$3" "$2"
}

route 'fsmonitor' 'git status' 'git config core.fsmonitor "$evil"'
route 'fsmonitor of an included file' 'git status' 'printf "[core]\n\tfsmonitor = $evil\n" >inc; git config include.path ../inc'
route 'clean filter' 'git add -A' 'echo "* filter=e" >.gitattributes; git config filter.e.clean "$evil"'
route 'smudge filter' 'git restore f' 'git config filter.e.smudge "$evil"; mkdir -p .git/info; echo "* filter=e" >.git/info/attributes'
route 'process filter' 'git diff' 'echo "* filter=e" >.gitattributes; git config filter.e.process "$evil"'
route 'textconv' 'git diff' 'echo "* diff=e" >.gitattributes; git config diff.e.textconv "$evil"'
route 'external diff' 'git diff' 'git config diff.external "$evil"'
route 'a driver of one attribute' 'git diff' 'echo "* diff=e" >.gitattributes; git config diff.e.command "$evil"'
for hook in pre-commit prepare-commit-msg commit-msg post-commit reference-transaction post-index-change; do
    route "hook $hook" 'git commit -q -a -m y' "cp \"\$evil\" .git/hooks/$hook"
done
route 'hook post-checkout' 'git switch -q -c t1' 'cp "$evil" .git/hooks/post-checkout'
route 'hooksPath' 'git commit -q -a -m y' 'mkdir h; cp "$evil" h/pre-commit; git config core.hooksPath "$PWD/h"'
route 'the program that signs' 'git commit -q -a -m y' 'git config commit.gpgSign true; git config gpg.program "$evil"'
route 'an alias' 'git st' 'git config alias.st "!$evil"'
route 'sshCommand' 'git fetch origin main' 'git remote add origin ssh://example.invalid/x; git config core.sshCommand "$evil"'
route 'uploadpack' 'git fetch origin main' 'git remote add origin "$PWD"; git config remote.origin.uploadpack "$evil"'
route 'receivepack' 'git push origin main' 'git remote add origin "$PWD"; git config remote.origin.receivepack "$evil"'
route 'an ext:: url' 'git fetch origin main' 'git config protocol.ext.allow always; git remote add origin "ext::$evil"'
route 'an url exchanged by insteadOf' 'git fetch origin main' \
    'git config protocol.ext.allow always; git remote add origin https://example.invalid/x; git config "url.ext::$evil .insteadOf" https://example.invalid/'
route 'credential helper' 'git fetch origin main' \
    'python3 -c "import http.server as h
class H(h.BaseHTTPRequestHandler):
    def do_GET(s): s.send_response(401); s.send_header(\"WWW-Authenticate\", \"Basic realm=x\"); s.end_headers()
    def log_message(s, *a): pass
s = h.HTTPServer((\"127.0.0.1\", 0), H); open(\"port\", \"w\").write(str(s.server_port)); s.timeout = 20; s.handle_request(); s.handle_request()" 3>&- >/dev/null 2>&1 &
    until [ -s port ]; do sleep 0.1; done
    git remote add origin "http://127.0.0.1:$(cat port)/x"; git config credential.helper "$evil"'
route 'a promisor remote' 'git show HEAD:f' \
    'git remote add origin ssh://example.invalid/x; git config core.sshCommand "$evil"; git config extensions.partialClone origin
    git config remote.origin.promisor true; o=$(git rev-parse HEAD:f); rm -f ".git/objects/${o:0:2}/${o:2}"'
route 'another work tree' 'git restore f' 'git config core.worktree "$out"'
route 'alternateRefsCommand' 'git fetch origin main' \
    'git clone -q . ../up; git clone -q . ../alt; git -C ../alt commit -q --allow-empty -m alt; git remote add origin ../up
    echo "$HOME/projects/alt/.git/objects" >.git/objects/info/alternates; git config core.alternateRefsCommand "$evil"
    git -C ../up commit -q --allow-empty -m new'
route 'the configuration of a submodule' 'git status' \
    'git clone -q . ../lib; git -c protocol.file.allow=always submodule --quiet add "$HOME/projects/lib" lib; git -C lib config core.fsmonitor "$evil"'
route 'commondir' 'git status' 'cp -r .git other; git --git-dir=other config core.fsmonitor "$evil"; echo "$PWD/other" >.git/commondir'
route 'a .git file' 'git status' 'mv .git other; git --git-dir=other config core.fsmonitor "$evil"; echo "gitdir: other" >.git'
route 'a bare repository beside a broken .git' 'git status' \
    'cp -r .git/. .; git --git-dir=. config core.bare false; git --git-dir=. config core.worktree "$PWD"; git --git-dir=. config core.fsmonitor "$evil"; rm .git/HEAD'
route 'a repository above' 'git status' 'rm -rf .git; git init -q ..; git -C .. config core.fsmonitor "$evil"'
finish
