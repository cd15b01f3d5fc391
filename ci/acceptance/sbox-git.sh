#!/usr/bin/env bash
# Git in the cage: what `sbox --git git` can do, and what a hook that runs in it
# cannot leave behind for the host's git.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
if [ -n "${SBOX_HERE:-}" ]; then source "$SBOX_HERE/common.bash"; else
    # shellcheck source=ci/acceptance/sbox/common.bash
    source "$(dirname "$0")/sbox/common.bash"
fi

# repository NAME: a fresh one with a commit and a remote branch; stays in it.
repository() {
    rm -rf "$HOME/projects/$1" && mkdir -p "$HOME/projects/$1" && cd "$HOME/projects/$1" || return
    git init -q -b main . && git config user.email a@b && git config user.name n
    echo a >a && git add a && git commit -qm first
    git remote add origin /nonexistent && git update-ref refs/remotes/origin/main HEAD
}

# hook NAME SCRIPT
hook() {
    printf '#!/bin/sh\n%s\n' "$2" >".git/hooks/$1" && chmod +x ".git/hooks/$1"
}

g() { "$sbox" --git git "$@"; }

battery() {
    work
    hostile
    resolve
}

work() {
    repository work || return
    held 'without --git nothing is committed' 'git commit --allow-empty -m x'
    hook pre-commit 'echo "$PWD" >hook-ran; [ -e /run/sbox/start ] && echo caged >>hook-ran; cat ~/.ssh/key >>hook-ran 2>/dev/null; true'
    mkdir -p "$HOME/.ssh" && echo key-material >"$HOME/.ssh/key"
    echo b >b
    check 'add' g add b
    check 'add -A leaves placeholders out' g add -A
    is 'commit lists' b "$(git diff --cached --name-only)"
    check 'commit' g commit -qm second
    is 'the pre-commit hook ran in the cage, without keys' "$PWD caged" "$(xargs <hook-ran)"
    rm -f hook-ran .git/hooks/pre-commit
    check 'branch -u' g branch -u origin/main
    is 'the upstream is recorded' origin/main "$(git rev-parse --abbrev-ref '@{u}')"
    check 'switch -c --track' g switch -qc topic --track origin/main
    is 'the branch is the current one' topic "$(git branch --show-current)"
    echo c >>a
    check 'stash' g stash -q
    check 'stash pop' g stash pop -q
    check 'commit -a' g commit -qam third
    check 'rebase' g rebase -q main
    check 'gc' g gc -q
    check 'tag' g tag v1
    check 'annotated tag' g tag -m v2 v2
    check 'worktree add' g worktree add -q ../work-tree -b wt
    check 'commit in the worktree' bash -c 'cd ../work-tree && echo w >w && "$0" --git git add w && "$0" --git git commit -qm w' "$sbox"
    is 'the host sees that commit' w "$(git log -1 --format=%s wt)"
    check 'fsck outside' git fsck --strict
    local out
    out=$(g tag -s v3 -m x 2>&1)
    is 'a signed tag is refused' '128 1' "$? $(grep -c 'keys are hidden' <<<"$out")"
    out=$(g -c commit.gpgsign=true commit --allow-empty -m x 2>&1)
    is 'a signed commit is refused' '128 1' "$? $(grep -c 'keys are hidden' <<<"$out")"
    git init -q "$HOME/projects/lib" && (cd "$HOME/projects/lib" && git -c user.name=n -c user.email=a@b commit -q --allow-empty -m l)
    git -c protocol.file.allow=always submodule --quiet add "$HOME/projects/lib" lib && git commit -qm lib
    check 'commit in a submodule' bash -c 'cd lib && git config user.name n && git config user.email a@b && "$0" --git git commit -q --allow-empty -m s' "$sbox"
    held 'a hook of the super-repository from the submodule' 'cd lib && echo x >../.git/hooks/pre-commit'
    held 'a hook of the submodule' 'echo x >.git/modules/lib/hooks/pre-commit'
    held 'the file that names the submodule' 'rm lib/.git || mv lib lib2'
}

# undone NAME FILE SCRIPT: a pre-commit hook runs SCRIPT; FILE below .git is as
# it was afterwards, and sbox says so where it had to act.
undone() {
    local before after out
    hook pre-commit "$3"
    before=$(cat ".git/$2" 2>&1)
    echo x >>a
    out=$(g commit -qam hostile 2>&1)
    after=$(cat ".git/$2" 2>&1)
    rm -f .git/hooks/pre-commit
    if [ "$before" = "$after" ]; then ok "$1"; else bad "$1" "before: $before" "after: $after" "$out"; fi
    # The same hook without the wall.
    hook pre-commit "$3"
    echo x >>a
    git commit -qam hostile >/dev/null 2>&1
    after=$(cat ".git/$2" 2>&1)
    if [ "$before" != "$after" ]; then ok "$1 (works without the wall)"; else bad "$1 (works without the wall)" "$after"; fi
    repository hostile
}

hostile() {
    repository hostile || return
    undone 'config' config 'git config core.fsmonitor /tmp/evil'
    undone 'config by rename' config 'cp .git/config c && echo "[core]" >>c && mv c .git/config'
    undone 'a new hook' hooks/post-checkout 'echo x >.git/hooks/post-checkout'
    undone 'commondir' commondir 'echo ../evil >.git/commondir'
    undone 'alternates' objects/info/alternates 'mkdir -p .git/objects/info; echo /tmp/evil >.git/objects/info/alternates'
    undone 'attributes' info/attributes 'mkdir -p .git/info; echo "* filter=evil" >.git/info/attributes'
    undone 'config.worktree' config.worktree 'echo "[core]" >.git/config.worktree'
    undone 'a submodule' modules/evil/config 'mkdir -p .git/modules/evil; echo "[core]" >.git/modules/evil/config'
    undone 'HEAD' HEAD 'rm .git/HEAD; echo broken >.git/HEAD'
    # What a command may record in the configuration is recorded, nothing else.
    printf '#!/bin/sh\nexec "$REAL" "$@"\n' >/dev/null
    mkdir -p tools && printf '#!/bin/sh\ncat >/dev/null; git config core.fsmonitor evil\ncat\n' >tools/smudge && chmod +x tools/smudge
    git config filter.f.smudge "$PWD/tools/smudge" && git config filter.f.clean cat
    echo '* filter=f' >.gitattributes && echo 1 >f && git add . && git commit -qm f 2>/dev/null
    git branch other && echo 2 >f && git commit -qam f2
    g switch -q other >out 2>&1
    is 'a filter that writes the configuration during switch' 'none 1' \
        "$(git config core.fsmonitor || echo none) $(grep -c 'config was changed; undone' out)"
    rm -f out
    g branch -u ext::sh topic >/dev/null 2>&1
    repository hostile
    hook post-checkout 'echo ran >hook-ran'
    g switch -qc x
    is 'no hook runs while the configuration is writable' no "$([ -e hook-ran ] && echo yes || echo no)"
}

resolve() {
    repository top || return
    printf 'mv .git aside; git init -q .\n' >s
    hook pre-commit 'mv .git aside; mkdir .git; cp -r aside/. .git; echo "[core]" >>.git/config'
    echo x >>a
    g commit -qam x >/dev/null 2>&1
    rm -f .git/hooks/pre-commit
    is 'the git directory cannot be moved aside' no "$([ -e aside ] && echo yes || echo no)"
    repository top
    hook pre-commit 'kill -9 0'
    echo x >>a
    hook pre-commit 'echo /evil >.git/commondir; kill -9 0; kill -9 -1'
    g commit -qam x >/dev/null 2>&1
    is 'the supervisor outlives a hook that kills' no "$([ -e .git/commondir ] && echo yes || echo no)"
    rm -f .git/hooks/pre-commit
    cd "$HOME/projects" && mkdir -p bare && cd bare && git init -q .
    rm -rf "$HOME"/projects/{work,work-tree,hostile,top,lib,bare}
}

start_as_both "$0" box
