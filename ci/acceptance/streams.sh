#!/usr/bin/env bash
# The box's streams are the harness's and nothing else's: no byte is added,
# lost or changed, nothing hangs, and memory does not grow.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

project=$(new_project)
cd "$project" || exit
limit=60
box() { "$box" --engine none --exec "$@"; }
# quick COMMAND...: a launch that must not hang, with the caller's streams.
launcher=("$box")
quick() { timeout --kill-after=2 $limit "${launcher[@]}" --engine none --exec "$@"; }

t "the image is there" box true

## Nothing hangs.
# from_null STATUS: a harness that reads to the end ends.
t "</dev/null is an end" eval 'is 0 "$(quick sh -c "cat; exit 0" </dev/null | wc -c)"'
closed_stdin() {
    local status=0
    quick sh -c 'cat; exit 4' <&- || status=$?
    is 4 $status
}
t "a closed stdin is an end" closed_stdin
# What delivers nothing, or for ever, is not connected.
not_connected() { is 0 "$(quick wc -c </)" && is 0 "$(quick wc -c </dev/zero)"; }
t "neither a directory nor a device is connected" not_connected
closed_output() {
    local status=0
    quick sh -c 'exit 6' >&- 2>&- || status=$?
    is 6 $status
}
t "closed outputs are no fault of a harness that writes nothing" closed_output
# The writer outlives the harness, and the launcher does not wait for it.
open_writer() {
    local began=$SECONDS status=0
    mkfifo "$scratch/fifo" || return
    sleep 300 >"$scratch/fifo" &
    local writer=$!
    quick sh -c 'exit 5' <"$scratch/fifo" || status=$?
    kill -0 $writer || return
    kill $writer
    rm "$scratch/fifo"
    is 5 $status && [ $((SECONDS - began)) -lt 30 ]
}
t "a pipe whose writer stays open holds nothing" open_writer
# Status of both ends of "launcher | head": as a program on the host would have.
reader_gone() {
    local statuses
    timeout --foreground --kill-after=2 $limit "$box" --engine none --exec "$@" | head -n 1 >"$scratch/head"
    statuses="${PIPESTATUS[*]}"
    is "141 0" "$statuses" && is y "$(cat "$scratch/head")" && no_box_within 5
}
# Not below timeout, which would tell 141 from its own death.
reader_gone_as_in_a_shell() {
    local mine theirs
    "$box" --engine none --exec yes | head -n 1 >/dev/null
    mine="${PIPESTATUS[*]}"
    yes | head -n 1 >/dev/null
    theirs="${PIPESTATUS[*]}"
    is "$theirs" "$mine" && no_box_within 5
}
t "a reader that went away ends the launcher as it ends a program" reader_gone_as_in_a_shell
t "and a harness that ignores it" reader_gone sh -c 'trap "" PIPE; while :; do echo y; done 2>/dev/null'
stderr_gone() {
    local status
    { box sh -c 'while :; do echo n >&2; done' 2>&1 >&3 | head -n 1 >/dev/null; } 3>"$scratch/out"
    status=${PIPESTATUS[0]}
    no_box_within 5
}
t "a reader of stderr that went away leaves no box" stderr_gone

# A reader that stays and does not read: the signal still ends the run.
reader_stuck() {
    local pid status=0
    mkfifo "$scratch/stuck" || return
    sleep 300 <>"$scratch/stuck" &
    local reader=$!
    "$box" --engine none --exec yes >"$scratch/stuck" &
    pid=$!
    box_runs && sleep 2 && kill -TERM $pid && soon_gone $pid 40 || return
    wait $pid || status=$?
    kill $reader
    is 143 $status && no_box_within 5
}
t "a reader that does not read does not keep a signal from ending it" reader_stuck

# slow_reader SECONDS COMMAND...: the launcher's output is read after so long;
# its bytes are in $bytes, its status in $status.
# shellcheck disable=SC2317 # it is called below
slow_reader() {
    local pause=$1
    shift
    { "$@" 2>"$scratch/err"; echo $? >"$scratch/status"; } | (sleep "$pause" && wc -c) >"$scratch/bytes"
    status=$(cat "$scratch/status") bytes=$(cat "$scratch/bytes")
}
# More than the pipe holds, and less than the engine keeps.
much_at_the_end=(sh -c 'head -c 600000 /dev/zero; exit 3')
late_reader() {
    slow_reader 9 "$box" --engine none --timeout 7s --exec "${much_at_the_end[@]}"
    ended 3 && is 600000 "$bytes"
}
signalled_late() {
    # shellcheck disable=SC2016 # the script has its own variables
    slow_reader 24 sh -c '"$@" & sleep 8; kill -TERM $!; wait $!' sh "$box" --engine none --exec "${much_at_the_end[@]}"
    cat "$scratch/err"
    is "3 600000" "$status $bytes" || { is 143 "$status" && is 600000 "$bytes"; }
}
signalled_twice_late() {
    # shellcheck disable=SC2016 # the script has its own variables
    slow_reader 16 sh -c '"$@" & sleep 8; kill -TERM $!; sleep 1; kill -TERM $!; wait $!' sh "$box" --engine none --exec "${much_at_the_end[@]}"
    : >"$scratch/out"
    [ "$bytes" -lt 600000 ] && faulted 126 engine-lost "output is lost"
}
t "a time limit that passes while the output waits for its reader changes nothing" late_reader
t "nor does a signal, once the harness has ended" signalled_late
t "a second one gives the output up, with a fault" signalled_twice_late

gone_from_dry_run() {
    "$box" --dry-run 2>"$scratch/err" | true
    is "141 0" "${PIPESTATUS[0]} $(wc -c <"$scratch/err")"
}
t "a dry run whose reader went away ends as a program does" gone_from_dry_run
no_space() {
    status=0
    quick "$@" >/dev/full 2>"$scratch/err" || status=$?
    : >"$scratch/out"
    faulted 126 engine-lost "no space left" && no_box_within 5
}
t "output that cannot be written is a fault" no_space echo one
t "and ends the harness" no_space yes

## Bytes.
half_close() { is 1 "$(printf x | quick -- wc -c)"; }
t "the end of stdin reaches the harness, its answer comes back" half_close
# A socket, whose other end shuts one direction down and waits for the other.
socket() {
    perl -MSocket -e '
        socketpair(my $mine, my $its, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
        if (!fork) { close $mine; open(STDIN, "<&", $its); open(STDOUT, ">&", $its); exec @ARGV }
        close $its; syswrite($mine, "xyz"); shutdown($mine, 1); print while <$mine>; wait; exit $? >> 8' \
        timeout --kill-after=2 $limit "${launcher[@]}" --engine none --exec sh -c 'wc -c; exit 8' >"$scratch/out"
    is "8 3" "$? $(cat "$scratch/out")"
}
t "and through a socket" socket
every_byte() {
    local i
    for i in $(seq 0 255); do printf '%b' "\\x$(printf %x "$i")"; done >"$scratch/bytes"
    for i in 1 2 3 4; do cat "$scratch/bytes" "$scratch/bytes" >"$scratch/more" && mv "$scratch/more" "$scratch/bytes"; done
    quick cat <"$scratch/bytes" >"$scratch/back" && is "$(od -An -tx1 "$scratch/bytes")" "$(od -An -tx1 "$scratch/back")"
}
t "every byte there and back, od-equal" every_byte
# What a container says and what the same command says without a box.
same_output() {
    "$@" >"$scratch/want" && quick "$@" >"$scratch/got" && is "$(od -c "$scratch/want")" "$(od -c "$scratch/got")"
}
t "lines have no carriage return" same_output printf 'one\ntwo\r\n\n\tthree'
t "what looks like the handshake is passed on" same_output printf '\001cage$G00000002{}\001cage$X'
nothing_else() { is '' "$(quick true)" && is '' "$(quick sh -c 'kill -9 $$')"; }
t "a harness that writes nothing writes nothing" nothing_else
debugging() { is out "$(CLAUDE_BOX_DEBUG=1 quick echo out 2>"$scratch/err")" && grep -q debug "$scratch/err"; }
t "what the launcher says under debug is not on stdout" debugging
# A static program's first instructions: a script's interpreter is too slow.
first_program() {
    local how=$1
    mkdir -p "$scratch/$how" && cat >"$scratch/$how/main.go" <<-GO || return
		package main

		import "syscall"

		func init() {
			if "$how" != "silent" { syscall.Write(1, []byte("first\n")); syscall.Write(2, []byte("second\n")) }
			if "$how" == "ends" { syscall.Exit(9) }
			syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		}

		func main() {}
	GO
    (cd "$scratch/$how" && CGO_ENABLED=0 go build -o "$project/$how" main.go)
}
first_moment() {
    local how=$1 want=$2 out=$3 err=$4 i status
    [ -x "./$how" ] || first_program "$how" || return
    for i in 1 2; do
        status=0
        quick "./$how" >"$scratch/out" 2>"$scratch/err" || status=$?
        is "$want" $status && is "$out" "$(cat "$scratch/out")" && is "$err" "$(cat "$scratch/err")" || return
    done
}
t "what a harness writes in its first moment, and ends, is there" first_moment ends 9 first second
t "and is killed" first_moment killed 137 first second
t "one that is killed in it and writes nothing has a status, too" first_moment silent 137 '' ''

apart() {
    quick sh -c 'i=0; while [ $i -lt 2000 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done' >"$scratch/out" 2>"$scratch/err" || return
    is "$(seq -f 'out %.0f' 0 1999)" "$(cat "$scratch/out")" && is "$(seq -f 'err %.0f' 0 1999)" "$(cat "$scratch/err")"
}
t "stdout and stderr apart, each in order" apart
# Into one file, with time between the lines, they come in the order written.
together() {
    quick sh -c 'for i in 1 2 3 4 5; do echo out $i; sleep 0.1; echo err $i >&2; sleep 0.1; done' >"$scratch/out" 2>&1 || return
    is "$(for i in 1 2 3 4 5; do echo "out $i" && echo "err $i"; done)" "$(cat "$scratch/out")"
}
t "and in the order written where they are one" together

# Neither a file nor a terminal is among the three.
bytes() { cat "$scratch/bytes"; }
all_pipes() {
    local status
    {
        {
            bytes | quick sh -c 'tee /dev/stderr; exit 7' 2>&1 >&3 | cat >"$scratch/err"
            exit "${PIPESTATUS[1]}"
        } 3>&1 | cat >"$scratch/out"
        status=${PIPESTATUS[0]}
    }
    is 7 "$status" && cmp "$scratch/bytes" "$scratch/out" && cmp "$scratch/bytes" "$scratch/err"
}
t "with every descriptor a pipe" all_pipes

## As an ordinary user.
contract_of_streams() {
    closed_stdin && open_writer && half_close && every_byte && apart && all_pipes
}
by_user() (
    cd "$user_project" || return
    project=$user_project
    launcher=(runuser -u "$user" -- env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$scratch/users/$user"
        DOCKER_HOST="unix://$engine_socket" ${SSL_CERT_FILE:+SSL_CERT_FILE="$SSL_CERT_FILE"} "$user_box")
    contract_of_streams && no_box_within 5
)
if [ "$(id -u)" = 0 ]; then
    t "an ordinary user is made" make_user
    t "much of it, for an ordinary user" by_user
else
    skip "an ordinary user" "only root can make one"
fi

## Much, slowly, in little memory.
gib=$((1 << 30))
# The launcher is behind the pipe's writer and in front of a reader that pauses.
source_bytes() { openssl enc -aes-128-ctr -K 00112233445566778899aabbccddeeff -iv 0 -nosalt </dev/zero 2>/dev/null | head -c $gib; }
peak() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB$/\1/p' "/proc/$1/status"; }
slow_reader() {
    dd bs=1M count=64 iflag=fullblock 2>/dev/null
    sleep 5
    cat
}
much() {
    local want got pid
    want=$(source_bytes | sha256sum)
    mkfifo "$scratch/in" "$scratch/answer" || return
    source_bytes >"$scratch/in" &
    "$box" --engine none --exec cat <"$scratch/in" >"$scratch/answer" &
    pid=$!
    # Its peak is asked for while it lives.
    (while kill -0 $pid && peak $pid >"$scratch/peak.new" && [ -s "$scratch/peak.new" ]; do
        mv "$scratch/peak.new" "$scratch/peak"
        sleep 0.5
    done) 2>/dev/null &
    got=$(slow_reader <"$scratch/answer" | sha256sum)
    wait $pid || return
    echo "peak: $(cat "$scratch/peak") kB"
    is "$want" "$got"
}
# A launcher that kept what its reader does not take would need 64 MiB and more.
flat() { [ "$(cat "$scratch/peak")" -lt 65536 ] || is "less than 65536 kB" "$(cat "$scratch/peak") kB"; }
t "1 GiB there and back, unchanged, to a reader that pauses" much
t "the launcher's memory stays below 64 MiB" flat
t "no box is left" no_box_within 5
finish
