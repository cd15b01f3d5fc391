#!/usr/bin/env bash
# Files made in the box belong to the caller on the host, whoever that is, and
# what others own on the host is not the box's to change.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# What the box does, with names that tell.
work='set -e
umask 022
echo made >file
mkdir folder && echo made >folder/file
ln -s file link
printf "#!/bin/sh\n" >script && chmod 0750 script
echo more >>existing
mv renamed-from renamed-to
git init -q repository && git -C repository -c user.name=x -c user.email=x@localhost commit -q --allow-empty -m first'

# prepare PROJECT: what the caller has in it beforehand.
prepare() { echo before >"$1/existing" && echo before >"$1/renamed-from"; }

# all_owned PROJECT OWNER: every file, made, changed or found.
all_owned() {
    is '' "$(find "$1" -mindepth 1 ! -path "$1/of-another*" \( ! -uid "${2%:*}" -o ! -gid "${2#*:}" \) -printf '%P %U:%G\n')" &&
        is 'rwxr-x---' "$(find "$1/script" -printf %M | cut -c 2-)" &&
        [ -s "$1/renamed-to" ] && [ -d "$1/repository/.git" ]
}

# In the box the files are the box's own user's, git sees no dubious owner, and
# the user is not root.
seen_inside='[ "$(id -u)" != 0 ] && [ "$(stat -c %u existing)" = "$(id -u)" ] && [ "$(stat -c %g existing)" = "$(id -g)" ] && git -C repository log -1 --format=%s'

## The caller of this script.
project=$(new_project)
t "the caller's files: made" eval 'prepare "$project" && in_box "$project" sh -c "$work"'
t "the caller's files: owned by the caller on the host" all_owned "$project" "$(id -u):$(id -g)"
t "the caller's files: the box's user's inside" in_box "$project" sh -c "$seen_inside"

## Root only: what belongs to the box's own number on the host is another's.
another_is_another() {
    echo private >"$project/of-another" && chown 1000:1000 "$project/of-another" && chmod 0600 "$project/of-another" || return
    in_box "$project" sh -c '[ "$(stat -c %u of-another)" != "$(id -u)" ] && [ "$(stat -c %u of-another)" != 0 ] && ! cat of-another' &&
        is '1000:1000 private' "$(stat -c %u:%g "$project/of-another") $(cat "$project/of-another")"
}

## An ordinary user who may use the engine, made for this test.
user=cage-test-$$
make_user() {
    local socket_group
    socket_group=$(stat -c %g "${DOCKER_SOCKET:-/var/run/docker.sock}") || return
    useradd --create-home --home-dir "$scratch/users/$user" --shell /bin/sh "$user" || return
    at_exit userdel "$user"
    usermod -aG "$(getent group "$socket_group" | cut -d: -f1)" "$user" || return
    # The checkout may lie where only root can read.
    make -s -C "$root" install PREFIX="$scratch/prefix" && chmod -R a+rX "$scratch/prefix" || return
    user_project=$scratch/users/$user/project
    runuser -u "$user" -- mkdir "$user_project"
}

# as_user COMMAND...: in the user's project, with none of root's environment.
as_user() {
    (cd "$user_project" && exec runuser -u "$user" -- env -i PATH="$scratch/prefix/bin:/usr/local/bin:/usr/bin:/bin" HOME="$scratch/users/$user" \
        ${SSL_CERT_FILE:+SSL_CERT_FILE="$SSL_CERT_FILE"} "$@")
}

user_work() {
    as_user sh -c 'echo before >existing && echo before >renamed-from' && as_user claude-box --engine none --exec sh -c "$work"
}

state_is_the_users() {
    is '' "$(find "$scratch/users/$user" ! -user "$user" -printf '%P %u\n')" && is 700 "$(stat -c %a "$scratch/users/$user/.claude-box")"
}

same_number() { is "$(id -u "$user"):$(id -g "$user")" "$(as_user claude-box --engine none --exec sh -c 'echo "$(id -u):$(id -g)"')"; }

# as_ids UID GID COMMAND...: as ids of whom no user database knows, in a project
# and a home of theirs, with the engine's group.
as_ids() {
    local uid=$1 gid=$2 home=$scratch/users/of-$1
    shift 2
    install -d -o "$uid" -g "$gid" "$home" "$home/project"
    (cd "$home/project" && exec setpriv --reuid "$uid" --regid "$gid" --groups "$gid,$(stat -c %g "$socket")" env -i \
        PATH="$scratch/prefix/bin:/usr/bin:/bin" HOME="$home" ${SSL_CERT_FILE:+SSL_CERT_FILE="$SSL_CERT_FILE"} \
        ${DOCKER_HOST:+DOCKER_HOST="$DOCKER_HOST"} "$@")
}

socket=${DOCKER_HOST:-unix:///var/run/docker.sock}
socket=${socket#unix://}

# ids_are_kept UID GID: what is made there is theirs, and inside they are the same.
ids_are_kept() {
    local home=$scratch/users/of-$1
    as_ids "$1" "$2" sh -c 'echo before >existing && echo before >renamed-from' &&
        as_ids "$1" "$2" claude-box --engine none --exec sh -c "$work" || return
    all_owned "$home/project" "$1:$2" && is '' "$(find "$home/.claude-box" ! -uid "$1" -printf '%P %U\n')" &&
        is "$1:$2 $1" "$(as_ids "$1" "$2" claude-box --engine none --exec sh -c 'echo "$(id -u):$(id -g) $(stat -c %u existing)"')"
}

# A project of a group, of which the caller is a member besides the own one.
of_a_group() {
    local shared=$scratch/users/shared
    # The engine's group is one that the caller of as_ids has.
    install -d -m "$1" -o 0 -g "$(stat -c %g "$socket")" "$shared" || return
    status=0
    as_ids 60001 60001 sh -c 'cd "$0" && exec "$@"' "$shared" claude-box --engine none "${@:3}" --exec sh -c "$2" >"$scratch/out" 2>"$scratch/err" || status=$?
    cat "$scratch/err"
}
by_a_group() {
    local group
    group=$(stat -c %g "$socket")
    of_a_group 0770 true
    is 1 "$status" && grep -q "fault=usage.* --user 60001:$group" "$scratch/err" || return
    of_a_group 0775 'ls && ! touch made'
    is 0 "$status" && grep -q "WARNING: .*yours to write.* --user 60001:$group" "$scratch/err" || return
    of_a_group 0770 'touch made ~/.claude/kept' --user "60001:$group"
    is 0 "$status" && is "60001:$group" "$(stat -c %u:%g "$scratch/users/shared/made")" && rm "$scratch/users/shared/made"
}
# Readable to its owner is not enough.
not_to_enter() {
    install -d -m 0400 -o 60001 -g 60001 "$scratch/users/closed" || return
    status=0
    as_ids 60001 60001 claude-box --engine none "$scratch/users/closed" >"$scratch/out" 2>"$scratch/err" || status=$?
    cat "$scratch/err"
    is 1 "$status" && grep -q "cannot be entered" "$scratch/err"
}

# behind_sudo COMMAND...: in the user's project, with the real sudo.
behind_sudo() {
    (cd "$user_project" && exec runuser -u "$user" -- env -i PATH="$scratch/prefix/bin:/usr/local/bin:/usr/bin:/bin" HOME="$scratch/users/$user" \
        sudo --preserve-env=SSL_CERT_FILE,DOCKER_HOST,XDG_STATE_HOME "$(command -v "$scratch/prefix/bin/$1")" "${@:2}")
}
for_sudo() {
    command -v sudo && echo "$user ALL=(root) NOPASSWD:SETENV: ALL" >"/etc/sudoers.d/$user" && at_exit rm "/etc/sudoers.d/$user" &&
        rm -rf "$user_project" "$scratch/users/$user/.claude-box" && runuser -u "$user" -- mkdir "$user_project" &&
        as_user sh -c 'echo before >existing && echo before >renamed-from' && behind_sudo claude-box --engine none --exec sh -c "$work" &&
        all_owned "$user_project" "$(id -u "$user"):$(id -g "$user")" && state_is_the_users &&
        is "$(id -u "$user")" "$(behind_sudo claude-box --engine none --exec id -u)"
}
# What is root's behind sudo stays root's.
roots_project_behind_sudo() {
    user_project=$(mktemp -d "$scratch/users/project.XXXXXX") && chmod 0755 "$user_project" &&
        behind_sudo claude-box --engine none --exec touch made && is 0:0 "$(stat -c %u:%g "$user_project/made")"
}
# A worktree's git directory is elsewhere, and root's as the project is.
worktree() {
    local main
    main=$(new_project) && project=$scratch/worktree && git init -q "$main" && git -C "$main" -c user.name=x -c user.email=x@localhost commit -q --allow-empty -m first &&
        git -C "$main" worktree add -q "$project" && in_box "$project" sh -c 'git status && git -c user.name=x -c user.email=x@localhost commit -q --allow-empty -m second' || return
    is second "$(git -C "$project" log -1 --format=%s)" && is '' "$(find "$main" "$project" \( ! -uid "$(id -u)" -o ! -gid "$(id -g)" \))"
}
t "a worktree: its git directory is the caller's, too" worktree

if [ "$(id -u)" = 0 ]; then
    t "a host root: a file of the user 1000 stays that user's" another_is_another
    mkdir -p "$scratch/users" && chmod 0755 "$scratch/users"
    t "an ordinary user is made" make_user
    t "an ordinary user's files: made, with the installed launcher" user_work
    t "an ordinary user's files: owned by the user on the host" all_owned "$user_project" "$(id -u "$user"):$(id -g "$user")"
    t "an ordinary user's files: the user's inside" as_user claude-box --engine none --exec sh -c "$seen_inside"
    t "an ordinary user has the same number inside" same_number
    t "an ordinary user's state is the user's alone" state_is_the_users
    # A Mac's first user and its group, a high id, and nobody.
    t "behind sudo, the files of the user who called it" for_sudo
    t "behind sudo, the files of root in a project of root's" roots_project_behind_sudo
    t "the files of 501:20" ids_are_kept 501 20
    t "the files of 60000:60000" ids_are_kept 60000 60000
    t "the files of 65534:65534" ids_are_kept 65534 65534
    t "a project that is the caller's through a group" by_a_group
    t "a project that cannot be entered" not_to_enter
else
    skip "another user's files" "only root can make another user"
fi
finish
