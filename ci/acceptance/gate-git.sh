#!/usr/bin/env bash
# Network git through the gate: what the hook rewrites runs, over https (git
# http-backend) and ssh (sshd) on loopback, as git's own would; and in hostile
# repositories nothing of theirs runs outside the cage and nothing goes elsewhere.
#
# Needs git, bubblewrap and sshd.
# shellcheck source-path=SCRIPTDIR source=lib.sh
export TMPDIR=/var/tmp # outside the zone, as a home is
. "$(dirname "$0")/lib.sh"

home=$HOME project=$HOME/projects/app bin=$scratch/bin served=$scratch/served
mkdir -p "$bin" "$served" "$home/projects" "$home/.ssh"
chmod 755 "$bin"
for name in sbox cage-gate; do
    (cd "$root" && CGO_ENABLED=0 go build -o "$bin/$name" "./cmd/$name") || exit 1
done
(cd "$root" && go build -o "$scratch/git-server" ./ci/git-server) || exit 1
export GIT_CONFIG_NOSYSTEM=1 PATH=$bin:/usr/sbin:/usr/bin:/sbin:/bin
unset ANTHROPIC_API_KEY XDG_STATE_HOME GIT_SSL_CAINFO

serve_https() {
    "$scratch/git-server" "$served" "$scratch/ca.pem" "$scratch/https.port" >"$scratch/https.log" 2>&1 &
    at_exit kill $!
    for _ in $(seq 100); do
        [ -s "$scratch/https.port" ] && break
        sleep 0.1
    done
    https=https://127.0.0.1:$(cat "$scratch/https.port")
}

serve_ssh() {
    local port=$((20000 + RANDOM % 20000))
    ssh-keygen -q -t ed25519 -N '' -f "$scratch/hostkey" && ssh-keygen -q -t ed25519 -N '' -f "$home/.ssh/id" || return
    cp "$home/.ssh/id.pub" "$scratch/authorized"
    cat >"$scratch/sshd.conf" <<CONF
ListenAddress 127.0.0.1
Port $port
HostKey $scratch/hostkey
AuthorizedKeysFile $scratch/authorized
StrictModes no
PidFile none
UsePAM no
CONF
    mkdir -p /run/sshd
    /usr/sbin/sshd -D -e -f "$scratch/sshd.conf" >"$scratch/sshd.log" 2>&1 &
    at_exit kill $!
    ssh=ssh://$(id -un)@127.0.0.1:$port$served
}

serve_https
serve_ssh
cat >"$scratch/helper" <<'HELPER'
#!/bin/sh
[ "$1" = get ] && printf 'username=u\npassword=p\n'
HELPER
chmod 755 "$scratch/helper"
cat >"$home/.gitconfig" <<CONF
[user]
    name = A
    email = a@example.com
[init]
    defaultBranch = main
[http]
    sslCAInfo = $scratch/ca.pem
[credential]
    helper = $scratch/helper
[core]
    sshCommand = ssh -F none -i $home/.ssh/id -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR
[url "$https/"]
    insteadOf = here:
CONF

# fresh URL: an empty repository there, and a project with it as origin.
fresh() {
    rm -rf "$project" "$served/app.git"
    git init -q --bare "$served/app.git"
    git -C "$served/app.git" config http.receivepack true
    git init -q "$project"
    git -C "$project" remote add origin "$1/app.git"
    echo one >"$project/file"
    git -C "$project" add file
    git -C "$project" commit -qm one
}

# hook COMMAND: what the hook says to it in the project: the rewritten command,
# else the decision and its reason.
hook() {
    local event
    event=$(printf '{"session_id":"s","cwd":"%s","hook_event_name":"PreToolUse","permission_mode":"default","tool_name":"Bash","tool_use_id":"u","tool_input":{"command":"%s"}}' "$project" "$1")
    printf '%s' "$event" | cage-gate hook claude | sed -e 's/.*"updatedInput":{"command":"\(.*\)"}}}$/\1/' -e 's/.*"permissionDecision":"ask","permissionDecisionReason":"\(.*\)"}}$/ask: \1/'
}

# agent COMMAND: runs what the hook makes of it, as the harness would.
agent() {
    local command
    command=$(hook "$1")
    case $command in
    "$bin/"*) (cd "$project" && bash -c "$command") ;;
    *)
        echo "$command"
        return 99
        ;;
    esac
}

says() { # TEXT COMMAND…: the command's output has the text
    local text=$1 out
    shift
    out=$("$@" 2>&1)
    echo "$out"
    case $out in *"$text"*) ;; *) return 1 ;; esac
}
gated() { says "$1" hook "$2" && says 'ask: ' hook "$2"; }
approve() { (cd "$project" && cage-gate remotes add "$1"); }
at() { git -C "$1" rev-parse "$2"; }
same() { is "$(at "$1" "$2")" "$(at "$3" "$4")"; }
other_commit() { # MESSAGE: a commit by somebody else on the served main
    rm -rf "$scratch/other"
    git clone -q "$served/app.git" "$scratch/other" && echo "$1" >"$scratch/other/$1" &&
        git -C "$scratch/other" add . && git -C "$scratch/other" commit -qm "$1" && git -C "$scratch/other" push -q origin HEAD:main
}

friendly() { # NAME URL
    fresh "$2"
    t "$1: before approval a push is gated, and the reason names the command" gated "cage-gate remotes add $2/app.git" 'git push origin main'
    t "$1: approve" approve "$2/app.git"
    t "$1: push -u" says 'main -> main' agent 'git push -u origin main'
    t "$1: it is there" same "$project" main "$served/app.git" main
    t "$1: the tracking branch is as git would leave it" same "$project" origin/main "$project" main
    t "$1: the upstream too" is origin/main "$(git -C "$project" rev-parse --abbrev-ref 'main@{upstream}')"
    t "$1: again: up to date" says 'Everything up-to-date' agent 'git push origin main'
    other_commit two
    git -C "$served/app.git" tag v1 main
    t "$1: fetch, with git's own words" says "From $2/app" agent 'git fetch origin'
    t "$1: fetched" same "$project" origin/main "$served/app.git" main
    t "$1: with its tag" same "$project" v1 "$served/app.git" main
    echo mine >"$project/mine"
    git -C "$project" add mine
    git -C "$project" commit -qm mine
    t "$1: a push that is behind is rejected in git's words" says 'rejected' agent 'git push origin main'
    t "$1: pull, merged in the cage" agent 'git pull --no-rebase origin main'
    t "$1: the merge is named as git names it" says "Merge branch 'main' of $2/app" git -C "$project" log -1 --format=%s
    t "$1: push the merge and a branch" agent 'git switch -q -c topic && git push origin main topic'
    t "$1: both are there" same "$project" topic "$served/app.git" topic
    other_commit three
    t "$1: pull --rebase" agent 'git pull -r origin main'
    t "$1: rebased" is three "$(git -C "$project" log -1 --format=%s)"
    git -C "$served/app.git" branch -D -q topic
    t "$1: fetch -p" agent 'git fetch -p origin'
    t "$1: pruned" not git -C "$project" rev-parse -q --verify origin/topic
}

friendly https "$https"
friendly ssh "$ssh"

shallow() {
    rm -rf "$project"
    git clone -q --depth 1 "file://$served/app.git" "$project" && git -C "$project" remote set-url origin "$https/app.git" &&
        agent 'git fetch origin' && echo s >"$project/s" && git -C "$project" add s && git -C "$project" commit -qm s &&
        agent 'git push origin HEAD' && same "$project" main "$served/app.git" main
}
fresh "$https"
approve "$https/app.git" >/dev/null
agent 'git push -q origin main'
other_commit deeper
t "a shallow clone can fetch and push" shallow
fresh "$https"
git -C "$project" remote set-url origin here:app.git
t "an insteadOf of the user's counts" approve here:app.git
t "and it is resolved" says "$https/app.git" bash -c "cd '$project' && cage-gate remotes list"
t "a push to it" agent 'git push origin main'
t "take the URL itself back" bash -c "cd '$project' && cage-gate remotes remove '$https/app.git' && cage-gate remotes add here:app.git"
sed -i "s|insteadOf = here:|insteadOf = there:|" "$home/.gitconfig"
printf '[url "%s/"]\n    insteadOf = here:\n' "$ssh/moved" >>"$home/.gitconfig"
t "a remote that resolves elsewhere is gated, from what to what" gated "resolved to $https/app.git" 'git push origin main'

# Hostile: every route puts the marker there if it runs outside the cage.
marker=$scratch/marker
evil="touch $marker"
fresh "$https"
approve "$https/app.git" >/dev/null
agent 'git push -q origin main'
git init -q --bare "$served/evil.git"
git -C "$served/evil.git" config http.receivepack true

hostile() { # NAME GIT-CONFIG…: with that in the project's config
    rm -f "$marker"
    cp "$project/.git/config" "$scratch/config"
    local name=$1
    shift
    git -C "$project" config "$@"
    agent 'git push origin main' >"$scratch/out" 2>&1
    agent 'git fetch origin' >>"$scratch/out" 2>&1
    agent 'git pull --no-rebase origin main' >>"$scratch/out" 2>&1
    cp "$scratch/config" "$project/.git/config"
    cat "$scratch/out" >>"$scratch/hostile.log"
    t "hostile $name: nothing ran outside the cage" not test -e "$marker"
}
hostile fsmonitor core.fsmonitor "$evil"
hostile sshCommand core.sshCommand "$evil"
hostile credential credential.helper "!$evil"
hostile alternateRefsCommand core.alternateRefsCommand "$evil"
hostile uploadpack remote.origin.uploadpack "$evil"
hostile receivepack remote.origin.receivepack "$evil"
hostile ext remote.origin.url "ext::$evil"
hostile proxy core.gitProxy "$evil"
hostile askpass core.askPass "$evil"
hostile hooksPath core.hooksPath "$project/hooks"
hostile 'pre-push by alias' alias.push "!$evil"
hostile merge-driver merge.x.driver "$evil"
hostile editor core.editor "$evil"
hostile insteadOf "url.$https/evil.git.insteadOf" "$https/app.git"
hostile pushurl remote.origin.pushurl "$https/evil.git"
hostile promisor remote.origin.promisor true
hostile include include.path "$project/more"
hostile vcs remote.origin.vcs evil
t "and some of these commands did reach the remote" grep -qE 'up to date|From' "$scratch/hostile.log"
t "nothing went to another URL" not grep -q evil "$scratch/https.log"
printf '#!/bin/sh\n%s\n' "$evil" >"$project/.git/hooks/reference-transaction"
cp "$project/.git/hooks/reference-transaction" "$project/.git/hooks/post-merge"
chmod 755 "$project"/.git/hooks/*
agent 'git fetch origin' >/dev/null 2>&1
agent 'git push origin main' >/dev/null 2>&1
t "hostile hooks: nothing ran outside the cage" not test -e "$marker"
git -C "$project" push -q origin main:extra >/dev/null 2>&1
t "with plain git they do run" test -e "$marker"
rm -f "$marker" "$project/.git/hooks/reference-transaction" "$project/.git/hooks/post-merge"
cp "$scratch/helper" "$project/.git/hooks/pre-push"
t "a pre-push hook gates" gated 'pre-push hook' 'git push origin main'
rm "$project/.git/hooks/pre-push"
git -C "$project" config push.gpgSign true
t "a signed push gates" gated gpgSign 'git push origin main'
git -C "$project" config --unset push.gpgSign
echo '*.bin filter=lfs' >"$project/.gitattributes"
t "LFS gates" gated LFS 'git push origin main'
rm "$project/.gitattributes"
git -C "$project" config extensions.partialClone origin
t "a partial clone gates" gated partial 'git fetch origin'
git -C "$project" config --unset extensions.partialClone
mv "$project/.git" "$project/elsewhere" && echo "gitdir: $scratch/other/.git" >"$project/.git"
t "a git directory outside the zone gates" gated 'outside the zone' 'git push origin main'
rm "$project/.git" && mv "$project/elsewhere" "$project/.git"

flipped() { # the config flips in a loop while the gate works
    rm -f "$marker"
    cp "$project/.git/config" "$scratch/good"
    sed "s|app.git|evil.git|; s|\[core\]|[core]\n\tsshCommand = $evil\n\tfsmonitor = $evil|" "$scratch/good" >"$scratch/bad"
    (while :; do
        cp "$scratch/bad" "$scratch/c" && mv "$scratch/c" "$project/.git/config"
        cp "$scratch/good" "$scratch/c" && mv "$scratch/c" "$project/.git/config"
    done) &
    local flipper=$! done=0
    for _ in $(seq "${FLIPS:-100}"); do
        (cd "$project" && cage-gate git fetch origin) >"$scratch/last" 2>&1 && done=$((done + 1))
        (cd "$project" && cage-gate git push origin main) >>"$scratch/last" 2>&1 && done=$((done + 1))
    done
    # Mostly the cage refuses a configuration that was exchanged under it. Plain
    # git, in the same loop, runs what it says.
    local ran=no plain=no asked
    asked=$(grep -c evil "$scratch/https.log")
    ! test -e "$marker" || ran=yes
    for _ in $(seq 50); do
        git -C "$project" fetch -q origin >/dev/null 2>&1
        git -C "$project" status >/dev/null 2>&1
        ! test -e "$marker" || { plain=yes && break; }
    done
    kill "$flipper"
    wait "$flipper" 2>/dev/null
    rm -f "$marker"
    cp "$scratch/good" "$project/.git/config"
    echo "$done of 2 * ${FLIPS:-100} went through"
    tail -n 3 "$scratch/last"
    is no "$ran" && is yes "$plain" && is 0 "$asked"
}
t "flipped config during ${FLIPS:-100} fetches and as many pushes: nothing ran, nothing went elsewhere" flipped
t "no private directory is left" is '' "$(ls "$home/.local/state/agent-cage-git")"
finish
