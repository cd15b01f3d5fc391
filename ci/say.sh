# shellcheck shell=bash
# One line a step, with its time. Sourced by the scripts of this folder, which
# set CI_ROOT to the repository's root. Works in bash 3.2.

log_dir=$CI_ROOT/.cache/log
mkdir -p "$log_dir"

say() { printf '%s\n' "$*"; }

# die REASON WHAT-TO-DO: one line, and the end.
die() {
    printf 'failed: %s. %s\n' "$1" "$2" >&2
    exit 1
}

# step NAME TEXT COMMAND...: runs the command with its output in a log and prints
# the text with the time it took; a failure prints the log's end and returns 1.
step() {
    local log=$log_dir/$1.log text=$2 began=$SECONDS
    shift 2
    if "$@" >"$log" 2>&1 </dev/null; then
        say "$text ($((SECONDS - began)) s)"
        return 0
    fi
    say "$text: failed after $((SECONDS - began)) s; the end of $log:" >&2
    tail -n 15 "$log" | sed 's/^/    /' >&2
    return 1
}
