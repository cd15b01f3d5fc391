#!/usr/bin/env bash
# Languages, time zones and terminals are as on the host, as far as the image has
# them or can be given them.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

project=$(new_project)
for name in $(env | sed -nE 's/^(TERM|COLORTERM|COLORFGBG|LANG|LC_[A-Z]+|TZ|TERMINFO|TERMINFO_DIRS)=.*/\1/p'); do unset "$name"; done

# boxed [NAME=VALUE...] -- COMMAND...: a launch with these variables.
boxed() {
    local variables=()
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    launch env "${variables[@]}" "$box" --engine none --exec "$@"
    ended 0
}

## As they are.
as_they_are() {
    local want=(COLORFGBG='15;0' COLORTERM=truecolor LANG=C.UTF-8 LC_MESSAGES=POSIX LC_TIME=C TERM=screen-256color TZ=Asia/Tokyo)
    boxed "${want[@]}" -- env && is "$(printf '%s\n' "${want[@]}")" "$(grep -E '^(TERM|COLORTERM|COLORFGBG|LANG|LC_|TZ)' "$scratch/out" | sort)"
}
nothing_set() {
    boxed -- env && is LANG=C.UTF-8 "$(grep -E '^(TERM|COLORTERM|COLORFGBG|LANG|LC_)' "$scratch/out")"
}
t "TERM, COLORTERM, COLORFGBG, LANG, LC_* and TZ are as on the host" as_they_are
t "where none is set there is UTF-8 all the same" nothing_set

## Locales.
unknown_locales() {
    boxed LANG=xx_YY.UTF-8 LC_ALL=tlh_QO.ISO-8859-1@odd LC_CTYPE=../../etc -- sh -c 'env; locale charmap; bash -c true' &&
        is "$(printf '%s\n' LANG=C.UTF-8 LC_ALL=C.UTF-8 LC_CTYPE=C.UTF-8 UTF-8)" "$(grep -E '^(LANG|LC_|UTF)' "$scratch/out" | sort)" &&
        is '' "$(cat "$scratch/err")"
}
# Without the replacement: what bash says of a locale that the image lacks.
control() {
    boxed -- sh -c 'LC_ALL=xx_YY.UTF-8 bash -c true' && grep -q 'setlocale' "$scratch/err"
}
t "an unknown locale becomes C.UTF-8, and nobody complains" unknown_locales
t "of one that does not a shell complains" control

## Time zones.
zone() { boxed "$@" -- date -d 2026-01-15T12:00:00Z +%H:%M%z; }
by_name() { zone TZ=Asia/Tokyo && is 21:00+0900 "$(cat "$scratch/out")"; }
by_rule() { zone TZ=XYZ-5:30 && is 17:30+0530 "$(cat "$scratch/out")"; }
t "TZ as a name" by_name
t "TZ as a rule" by_rule
# localtime COMMAND: launches where it has made /etc/localtime, as every process
# of the launcher sees /etc.
localtime() {
    rm -rf "${scratch:?}/etc" && cp -a /etc "$scratch/etc" && rm -f "$scratch/etc/localtime" "$scratch/etc/timezone" && (cd "$scratch/etc" && eval "$1") || return
    shift
    launch env "$@" unshare --mount sh -c 'mount --bind "$1" /etc && cd "$2" && shift 2 && exec "$@"' sh \
        "$scratch/etc" "$project" "$box" --engine none --exec sh -c 'echo "$TZ"; date -d 2026-01-15T12:00:00Z +%H:%M%z'
    ended 0
}
a_link() { localtime 'ln -s /usr/share/zoneinfo/Asia/Tokyo localtime' && is "$(printf 'Asia/Tokyo\n21:00+0900')" "$(cat "$scratch/out")"; }
named_copy() {
    localtime 'cp /usr/share/zoneinfo/Asia/Tokyo localtime; echo Asia/Tokyo >timezone' && is "$(printf 'Asia/Tokyo\n21:00+0900')" "$(cat "$scratch/out")"
}
nameless_copy() {
    localtime 'cp /usr/share/zoneinfo/Asia/Tokyo localtime; echo Europe/Berlin >timezone' && is "$(printf 'JST-9\n21:00+0900')" "$(cat "$scratch/out")"
}
pointed_at() { localtime 'ln -s /usr/share/zoneinfo/Asia/Tokyo localtime' TZ=:/etc/localtime && is "$(printf 'Asia/Tokyo\n21:00+0900')" "$(cat "$scratch/out")"; }
no_zone() { localtime 'echo text >localtime' && is "$(printf '\n12:00+0000')" "$(cat "$scratch/out")"; }
if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null && [ -f /usr/share/zoneinfo/Asia/Tokyo ]; then
    t "the host's zone by the link /etc/localtime" a_link
    t "by a copy with its name in /etc/timezone" named_copy
    t "by a copy without its name" nameless_copy
    t "by a TZ that points at it" pointed_at
    t "a host without a zone" no_zone
else
    skip "the host's zone by /etc/localtime" "only root can show a process another one, and it takes tzdata"
fi

## Terminals.
# A terminal that no image knows, as an entry of the caller's.
describe() {
    tool ptytest && printf 'agent-cage-terminal|a terminal of the tests,\n\tcols#123, smso=\\E[agentcage,\n' >"$scratch/terminal.ti" &&
        tic -x -o "$HOME/.terminfo" "$scratch/terminal.ti"
}
# at_terminal NAME COMMAND...: in a box with a terminal of that name.
at_terminal() {
    local name=$1
    shift
    echo 'end 0' >"$scratch/keys"
    (cd "$project" && TERM=$name "$tools/ptytest" --script "$scratch/keys" -- "$box" --engine none --exec "$@")
}
travels() {
    rm -f "$project/said"
    at_terminal agent-cage-terminal sh -c 'echo "$TERM" >said; tput smso >>said; tput -T xterm smso >/dev/null' && is "$(printf 'agent-cage-terminal\n\033[agentcage')" "$(cat "$project/said")"
}
unknown_on_both() {
    rm -f "$project/said"
    at_terminal agent-cage-nowhere sh -c 'echo "$TERM" >said; tput smso 2>>said; true' && grep -qx agent-cage-nowhere "$project/said" && grep -q 'unknown terminal' "$project/said"
}
image_knows() {
    rm -f "$project/said"
    at_terminal xterm-256color sh -c 'echo "${TERMINFO_DIRS-none}" >said; tput smso >>said' && grep -qx none "$project/said"
}
t "a terminal that only the host knows is described" describe
t "its description travels" travels
t "a terminal that nobody knows has its name" unknown_on_both
t "for one that the image knows nothing travels" image_knows
finish
