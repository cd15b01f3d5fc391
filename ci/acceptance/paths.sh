#!/usr/bin/env bash
# Whatever a project is called and whatever file system it lies on: it works in
# the box under its own path, or is refused with the reason. For root and for an
# ordinary user.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

names=(
    'with space' ' leading and trailing ' 'a:colon:ro' 'comma,type=bind,src=x' 'double"quote' "single'quote"
    'back\slash' 'dollar$HOME`id`$(id)' 'ünïcödé-日本-🎉' $'combining-e\u0301' $'right-\u202eto-left' '-leading-dash' '--rm'
    $'tab\tin it' $'newline\nin it' $'trailing newline\n' $'escape\e[31m' '*glob?[x]' 'percent%s%n' 'key=value' '...'
    $'x\nclaude-box: fault=usage detail="forged"'
)

# as USER LAUNCHER-ARGUMENT...: the launcher in $project, as root or the user.
as() {
    local who=$1
    shift
    if [ "$who" = root ]; then
        launch "$box" --engine none "$@"
    else
        status=0
        (cd "$project" && as_user "$user_box" --engine none "$@") >"$scratch/out" 2>"$scratch/err" || status=$?
    fi
}

# works WHO: in the box the project is at its own path, has what the host has in
# it, and what is made there is the caller's on the host.
works() {
    local owner=0:0
    [ "$1" = root ] || owner=$(id -u "$user"):$(id -g "$user")
    (cd "$project" && rm -rf seen made && echo before >before && chown "$owner" . before) || return
    as "$1" --exec sh -c 'cat before && [ "$(pwd -P; echo .)" = "$PWD
." ] && printf %s "$PWD" >seen && mkdir made && git init -q made/repository'
    ended 0 && is before "$(cat "$scratch/out")" && printf %s "$project" | cmp - "$project/seen" &&
        is "$owner" "$(stat -c %u:%g "$project/made")" && no_box
}

all_names() {
    local name project wrong=0
    for name in "${names[@]}"; do
        project=$2/$name
        mkdir -p "$project"
        works "$1" || { printf 'wrong: %q\n' "$name" && wrong=1; }
        rm -rf "$project"
    done
    return $wrong
}

# refused WHO STATUS KIND TEXT: and nothing is left behind.
refused() {
    as "$1" --exec touch made
    faulted "$2" "$3" "$4" && [ ! -e "$project/made" ] && no_box
}

# name_refused WHO WHERE NAME TEXT
name_refused() {
    local project=$2/$3
    mkdir -p "$project" && { refused "$1" 1 usage "$4"; }
}

# deep BYTES WHERE: a project whose path has that length.
deep() {
    local element
    element=$(printf 'd%.0s' {1..199})
    project=$2
    while [ $((${#project} + 200)) -lt $(($1 - 1)) ]; do project=$project/$element; done
    element=$(printf 'e%.0s' {1..200})
    project=$project/${element:0:$(($1 - ${#project} - 1))}
    mkdir -p "$project" && is "$1" "${#project}"
}
long_works() {
    local project
    deep "$1" "$scratch/long" && works root
}
# The engine's own path in front of it makes it too long for the kernel.
too_long() {
    local project
    deep 4000 "$scratch/long" && refused root 1 usage "shorter path"
}

links() {
    local real=$scratch/real/project
    mkdir -p "$real" "$scratch/links" && ln -s "$scratch/real" "$scratch/links/above" && ln -s project "$real/../direct" &&
        ln -s "$scratch/links/b" "$scratch/links/a" && ln -s "$scratch/links/a" "$scratch/links/b" && ln -s /no/such "$scratch/links/dangling"
}
# by_way PATH: the directory argument and the working directory lead to the
# real one.
by_way() {
    local project=$scratch/real/project seen
    rm -f "$project/made"
    seen=$(cd "$1" && "$box" --engine none --exec sh -c 'touch made && pwd -P') || return
    is "$project" "$seen" && [ -e "$project/made" ]
}
# by_argument PATH: only a run of the harness takes one; a dry run shows it.
by_argument() { "$box" --dry-run=json "$1" | has -F "\"$scratch/real/project\""; }
bad_argument() {
    local project=$scratch
    launch "$box" --engine none "$scratch/links/$1" -p x
    faulted 1 usage "$2"
}

# A warning with a path in it is one line, and steers no terminal.
one_warning() {
    local project=$scratch/repository$'\n'$'x: fault=usage detail="forged"\e[31m'/below
    mkdir -p "$project" && git init -q "$project/.." || return
    as root --exec true
    cat "$scratch/err"
    is 1 "$(grep -c WARNING "$scratch/err")" && is 0 "$(grep -c -e '^x: fault' -e $'\e' "$scratch/err")"
}

where=$scratch/names
mkdir "$where"
t "names with everything in them: root" all_names root "$where"
t "a name that is not UTF-8" name_refused root "$where" $'latin-\xe9' "not UTF-8"
t "a path of 3,000 characters" long_works 3000
t "a path of 4,000 characters" too_long
t "links are made" links
t "a link to the project" by_way "$scratch/real/direct"
t "a link above the project" by_way "$scratch/links/above/project"
t "a link as the directory argument" by_argument "$scratch/real/direct"
t "a link that leads nowhere" bad_argument dangling "does not exist"
t "links that lead to each other" bad_argument a "too many links"
t "a warning is one line, whatever is in it" one_warning

home_refused() {
    local HOME=$scratch/homes/$1
    mkdir -p "$HOME" && project=$(new_project) && as root --exec true && faulted 1 usage HOME && is '' "$(ls -A "$HOME")"
}
home_works() {
    local HOME=$scratch/homes/$1
    mkdir -p "$HOME" && project=$(new_project) && as root --exec sh -c 'cd && pwd && [ -d .claude ] && getent passwd "$(id -u)"'
    ended 0 && is "$HOME" "$(head -n 1 "$scratch/out")" && grep -qF ":$HOME:/bin/" "$scratch/out"
}
t "a home with a colon" home_refused 'a:b'
t "a home with another account in its name" home_refused $'a\nroot2::0:0::'
t "a home that is not UTF-8" home_refused $'\xe9'
t "a home with spaces and quotes" home_works "O'Neill \"x\" ü"

## File systems.
# mounted TYPE OPTIONS: an empty directory of that file system, $where.
mounted() {
    where=$(mktemp -d "$scratch/mount.XXXXXX") && chmod 0755 "$where" && mount -t "$1" none "$where" ${2:+-o "$2"} && at_exit umount -l "$where"
}
on_tmpfs() { mounted tmpfs && project=$where/project && mkdir "$project" && works "$1"; }
make_overlay() {
    local layers
    layers=$(mktemp -d "$scratch/layers.XXXXXX") && mkdir "$layers"/{lower,upper,work} && chmod 0755 "$layers" "$layers"/* &&
        mounted overlay "lowerdir=$layers/lower,upperdir=$layers/upper,workdir=$layers/work" && project=$where/project && mkdir "$project"
}
root_on_overlay() { make_overlay && refused root 126 engine-start-failed "file system overlay" && grep -q -- --user "$scratch/err"; }
# What the refusal offers.
other_user_on_overlay() {
    make_overlay && chown 1000:1000 "$project" && as root --user 1000:1000 --exec sh -c 'touch made ~/.claude/kept' &&
        ended 0 && is 1000:1000 "$(stat -c %u:%g "$project/made")" && is 0:0 "$(stat -c %u:%g "$HOME/.claude-box/state/kept")"
}
# Where the state directory cannot be shown as another's, it can be given away.
state_given() {
    local HOME
    make_overlay && HOME=$where/home && mkdir "$HOME" && project=$(new_project) && chown 1000:1000 "$project" || return
    as root --user 1000:1000 --exec true
    faulted 126 engine-start-failed "chown -R 1000:1000" && chown -R 1000:1000 "$HOME/.claude-box/state" &&
        as root --user 1000:1000 --exec sh -c 'touch made ~/.claude/kept' && ended 0 && is 1000:1000 "$(stat -c %u:%g "$HOME/.claude-box/state/kept")"
}
below_overlay() { make_overlay && local inner=$project && project=$(new_project) && mkdir "$project/inner" && mount --bind "$inner" "$project/inner" && at_exit umount -l "$project/inner" && refused root 126 engine-start-failed ", overlay"; }
user_on_overlay() { make_overlay && works user; }
read_only() {
    project=$(new_project) && echo before >"$project/before" && chmod 0755 "$project" && mount --bind "$project" "$project" && at_exit umount -l "$project" &&
        mount -o remount,bind,ro "$project" || return
    as "$1" --exec sh -c 'cat before; touch made'
    ended 1 && is before "$(cat "$scratch/out")" && grep -q 'Read-only file system' "$scratch/err" && [ ! -e "$project/made" ]
}
below_read_only() {
    project=$(new_project) && mkdir "$project/inner" && mount --bind "$project/inner" "$project/inner" && at_exit umount -l "$project/inner" &&
        mount -o remount,bind,ro "$project/inner" || return
    as root --exec sh -c 'touch made && ! touch inner/made'
    ended 0 && [ -e "$project/made" ] && [ ! -e "$project/inner/made" ]
}
# A file system of another program's, as network ones are.
fuse() {
    behind=$(mktemp -d "$scratch/behind.XXXXXX") && chmod 0755 "$behind" && where=$(mktemp -d "$scratch/mount.XXXXXX") && chmod 0755 "$where" &&
        at_exit umount -l "$where" && "$@" "$behind" "$where" && project=$where/project
}
root_on_fuse() { fuse bindfs && mkdir "$project" && refused root 126 engine-start-failed "file system fuse"; }
user_on_fuse() { fuse bindfs && mkdir "$project" && works user; }
# One that its owner alone may enter, as a user's sshfs: not even the engine may.
private_fuse() {
    fuse true && chown "$user" "$behind" "$where" && runuser -u "$user" -- bindfs --no-allow-other "$behind" "$where" && runuser -u "$user" -- mkdir "$project" || return
    (cd / && status=0 && runuser -u "$user" -- env -i PATH=/usr/bin:/bin HOME="$scratch/users/$user" ${DOCKER_HOST:+DOCKER_HOST="$DOCKER_HOST"} \
        sh -c 'cd "$1" && exec "$2" --engine none --exec touch made' sh "$project" "$user_box") >"$scratch/out" 2>"$scratch/err" && status=0 || status=$?
    faulted 126 engine-start-failed "$project" && no_box
}
case_insensitive() {
    local image=$scratch/exfat.img uid gid device
    uid=$(id -u "$user") gid=$(id -g "$user")
    truncate -s 8M "$image" && mkfs.exfat "$image" && device=$(losetup -f --show "$image") && at_exit losetup -d "$device" && where=$(mktemp -d "$scratch/mount.XXXXXX") && chmod 0755 "$where" &&
        mount.exfat-fuse -o "uid=$uid,gid=$gid" "$device" "$where" && at_exit umount -l "$where" && project=$where/Project && mkdir "$project" &&
        [ -d "$where/pROJECT" ] && works user || return
    as user --exec sh -c 'echo one >File && cat fILE && [ "$(ls | grep -ci "^file$")" = 1 ]'
    ended 0 && is one "$(cat "$scratch/out")" || return
    # Named in other letters, the way in which it is named is the box's.
    project=$where/pRoJeCt && as user --exec sh -c 'cat file && [ "$(pwd -P)" = "$PWD" ]'
    ended 0
}

if [ "$(id -u)" = 0 ]; then
    t "an ordinary user is made" make_user
    where=$scratch/users/$user
    t "names with everything in them: an ordinary user" all_names user "$where"
    where=
    t "tmpfs: root" on_tmpfs root
    t "tmpfs: an ordinary user" on_tmpfs user
    t "overlay: root is refused, with what is in the way and what to do" root_on_overlay
    t "overlay: root with --user" other_user_on_overlay
    t "overlay: a home of root's, with --user" state_given
    t "overlay: an ordinary user" user_on_overlay
    t "overlay mounted in a project: root is refused" below_overlay
    t "a read-only mount: root" read_only root
    t "a read-only mount: an ordinary user" read_only user
    t "a read-only mount in a project" below_read_only
    if command -v bindfs >/dev/null; then
        t "FUSE: root is refused" root_on_fuse
        t "FUSE: an ordinary user" user_on_fuse
        if runuser -u "$user" -- test -w /dev/fuse; then
            t "FUSE that only its owner may enter is refused" private_fuse
        else
            skip "FUSE that only its owner may enter is refused" "users may not open /dev/fuse here"
        fi
    else
        skip "FUSE" "there is no bindfs"
    fi
    if command -v mount.exfat-fuse >/dev/null && command -v mkfs.exfat >/dev/null; then
        t "a case-insensitive file system: an ordinary user" case_insensitive
    else
        skip "a case-insensitive file system" "there is no exfat-fuse, or no mkfs.exfat"
    fi
else
    skip "file systems" "only root can mount"
fi
finish
