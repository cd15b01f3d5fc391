# shellcheck shell=bash
# What the sbox scripts share. Each runs its checks as the caller and, where the
# caller is root, again as an ordinary user made for it. The homes lie outside
# /tmp, which is in the zone. Output is TAP.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../../.." && pwd)

# ok NAME / bad NAME [WHY]: one check.
ok() { echo "ok - $identity: $1"; }
bad() {
    echo "not ok - $identity: $1"
    [ $# -lt 2 ] || printf '%s\n' "${@:2}" | tail -n 15 | sed 's/^/# /'
}

# check NAME COMMAND...: passes with status 0.
check() {
    local name=$1 out
    shift
    if out=$("$@" 2>&1 </dev/null); then ok "$name"; else bad "$name" "status $?" "$out"; fi
}

# is NAME WANT GOT
is() { if [ "$2" = "$3" ]; then ok "$1"; else bad "$1" "want: $2" "got:  $3"; fi; }

# wall NAME SCRIPT: SCRIPT is an attack, run by bash in $PWD: status 0 when it
# succeeds. It must outside and must not inside.
wall() {
    local out
    if ! out=$(timeout 30 bash -c "$2" 2>&1 </dev/null); then
        bad "$1: the attack works without the wall" "$out"
        return
    fi
    held "$1" "$2"
}

# where TEST NAME SCRIPT: a wall, if the machine has what it stands before.
where() {
    if bash -c "$1" >/dev/null 2>&1 </dev/null; then
        wall "$2" "$3"
    else
        echo "ok - $identity: $2 # SKIP this machine has nothing to attack there"
    fi
}

# held NAME SCRIPT: like wall where the attack cannot be shown outside on this
# machine, or would harm it. SCRIPT must run inside, to its end, and fail.
held() {
    local out status
    out=$(timeout 30 "$sbox" bash -c 'echo attack-begins; '"$2" 2>&1 </dev/null)
    status=$?
    if [ $status = 0 ]; then
        bad "$1: stopped in the cage" "$out"
    elif [ $status = 124 ] || ! grep -q '^attack-begins' <<<"$out" || grep -q 'command not found' <<<"$out"; then
        bad "$1: the attack ran in the cage" "status $status" "$out"
    else
        ok "$1"
    fi
}

# start_as_both SCRIPT [box]: runs the script's battery function for each
# identity, with box in a box as well, and numbers the checks.
start_as_both() {
    local script=$1
    if [ -n "${SBOX_BASE:-}" ]; then
        identity=${SBOX_IDENTITY} sbox=${SBOX_PROGRAM:-$SBOX_BASE/bin/sbox}
        battery
        return
    fi
    base=$(mktemp -d /var/tmp/sbox-check.XXXXXX) || exit
    case $base in /tmp/*) echo "not ok 1 - a directory outside /tmp" && exit 1 ;; esac
    chmod 0755 "$base"
    trap 'finish_both' EXIT
    mkdir "$base/bin"
    (cd "$repo" && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -E _rt0_sbox' -o "$base/bin/sbox" ./cmd/sbox) || exit
    # Static: the box has another C library.
    if command -v gcc >/dev/null; then gcc -O1 -w -static -o "$base/bin/attack" "$here/attack.c" || exit; fi
    cp -r "$here" "$base/sbox" && cp "$script" "$base/script" || exit
    chmod -R a+rX "$base"
    # Only root can have an ordinary user made, and a place of its own.
    apart=()
    if [ "$(id -u)" = 0 ] && unshare --mount --pid --fork --mount-proc true 2>/dev/null; then
        apart=(unshare --mount --pid --fork --kill-child --mount-proc
            bash -c 'mount -t tmpfs -o mode=1777 tmpfs /tmp && exec "$@"' apart)
    fi
    # Known to the end of the script: what follows runs in a subshell.
    user=sboxcheck$$
    {
        run_as "$(id -un)" "$base/home"
        if [ "$(id -u)" = 0 ]; then
            useradd --create-home --home-dir "$base/user" --shell /bin/bash "$user" || echo "not ok - a user can be made"
            chmod 0700 "$base/user"
            run_as "$user" "$base/user"
        fi
        [ "${2:-}" != box ] || run_in_box
    } | number
    [ "${PIPESTATUS[1]}" = 0 ]
}

# run_as USER HOME: with a /tmp and processes of its own, so that neither what
# others have in /tmp nor what an attack kills is anybody else's.
run_as() {
    mkdir -p "$2/projects"
    local env=(env --default-signal -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin HOME="$2" USER="$1" LANG=C.UTF-8 TERM=xterm
        SBOX_BASE="$base" SBOX_IDENTITY="$1" SBOX_HERE="$base/sbox")
    if [ "$1" = "$(id -un)" ]; then
        (cd "$2" && "${apart[@]}" "${env[@]}" bash "$base/script")
    else
        chown -R "$1" "$2"
        (cd "$2" && "${apart[@]}" setpriv --reuid "$1" --regid "$1" --init-groups "${env[@]}" bash "$base/script")
    fi
}

# run_in_box: for the harness's user of a box, whose project is ~/projects, in
# a posture without an engine and in one with.
run_in_box() {
    if ! docker version >/dev/null 2>&1; then
        echo "ok - box: the same in a box # SKIP no container engine"
        return
    fi
    # The zone of a box is its project, wherever that is.
    mkdir -p "$base/boxed/elsewhere"
    in_box none elsewhere sbox sh -c 'touch in-the-zone; touch ~/beside' >/dev/null 2>&1
    if [ -e "$base/boxed/elsewhere/in-the-zone" ]; then echo "ok - box: its project is the zone"; else echo "not ok - box: its project is the zone"; fi
    run_in_posture none
    run_in_posture rootless
}

# in_box POSTURE PROJECT COMMAND...
in_box() {
    local config=${DOCKER_CONFIG:-$HOME/.docker} state=${XDG_STATE_HOME:-$HOME/.local/state}
    (cd "$base/boxed/$2" && DOCKER_CONFIG=$config XDG_STATE_HOME=$state HOME=$base/boxed \
        "$repo/bin/claude-box" --engine "$1" --exec "${@:3}") </dev/null
}

run_in_posture() {
    local tools=$base/boxed/projects/.check
    mkdir -p "$tools/bin" && cp "$base/bin/attack" "$tools/bin" && cp -r "$base/sbox" "$base/script" "$tools" || return
    in_box "$1" projects env SBOX_BASE="$tools" SBOX_IDENTITY="box-$1" SBOX_HERE="$tools/sbox" \
        SBOX_PROGRAM=/usr/local/bin/sbox USER=agent bash "$tools/script" || echo "not ok - box-$1: the battery came to its end"
    rm -rf "$base/boxed"
}

finish_both() {
    ! id -u "${user:-}" >/dev/null 2>&1 || userdel "$user" 2>/dev/null
    rm -rf "$base"
}

# number: numbers the checks and adds the plan and the count; fails if one did.
number() {
    awk '/^ok - /{n++; sub(/^ok /,"ok " n " "); print; next}
         /^not ok - /{n++; f++; sub(/^not ok /,"not ok " n " "); print; next}
         {print}
         END{print "1.." n+0; print n-f " passed, " f+0 " failed" | "cat 1>&2"; exit f>0||!n}'
}
