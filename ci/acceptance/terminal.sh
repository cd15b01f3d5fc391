#!/usr/bin/env bash
# A person at a terminal: what the harness shows and gets is what docker run -it
# shows and gives it, and the terminal is left as it was found on every way out.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

export TERM=xterm-256color LANG=C.UTF-8
unset LC_ALL LC_CTYPE
export SHELL_BOX="$box --engine none --exec"

# person [FLAG...] -- COMMAND...: plays the steps on stdin to it, in a project
# of its own or in $place, which is one.
place=''
person() {
    local project=${place:-$(new_project)}
    cat >"$project/.steps"
    (cd "$project" && exec "$tools/ptytest" --timeout 25s --quiet 200ms --out "$project/.screen" --keys "$project/.keys" --script .steps "$@")
}
# boxed COMMAND...: one in the box, whose launcher's process id is noted.
boxed=(sh -c 'echo $$ >launcher.pid; exec "$@"' sh "$box" --engine none --exec)

# Checks that take long run beside one another: begin NAME COMMAND... starts
# one, and t NAME went_well NAME tells how it went.
begin() {
    local name=$1
    shift
    ("$@" >"$scratch/began.$name" 2>&1 </dev/null && touch "$scratch/well.$name") &
    eval "pid_$name=$!"
}
went_well() {
    local pid=pid_$1
    wait "${!pid}"
    cat "$scratch/began.$1"
    [ -e "$scratch/well.$1" ]
}

tool ptytest faulty-engine
project=$(new_project)
t "the image is there" in_box "$project" true

## Keystroke by keystroke as with docker run -it.
shell_in_box=(env 'PS1=$ ' HISTFILE= INPUTRC=/dev/null bash -c 'ulimit -c 0; exec bash --noprofile --norc -i')
# in_container COMMAND...: the same image without the launcher.
in_container() {
    docker run --rm -it --init --detach-keys 'ctrl-_,ctrl-_,ctrl-_,ctrl-_' --hostname h -u 1000:1000 -e TERM -e LANG -w /tmp \
        --entrypoint "$1" claude-box "${@:2}"
}
keystrokes() {
    cat <<-'STEPS'
		wait [$] $
		keys "echo one"
		key "\x1b[D"
		key "\x1b[D"
		key "\x7f"
		keys "x\r"
		key "\x1b[A"
		key "\x1b[B"
		key "\x1bOA"
		key "\x01"
		key "\x05"
		key "\x15"
		key "\x10"
		key "\x11"
		key "\x10\x11"
		key "\x15"
		key "\x12"
		keys "on\x03"
		keys "sleep 60\r\x1a"
		keys "fg\r\x03"
		keys "sleep 60\r\x1c"
		keys "cat\r"
		keys "ab\x08\x7fc\r\x13"
		keys "d\x11\x04\x04"
		key "\u00e9\u20ac"
		key "\xff\xfe\xc3"
		key "\x15"
		key "\x1b[200~two\rlines\x1b[201~"
		key "\x15"
		send "stty -a\r"
		wait isig.*[$] $
		keys "exit 7\r"
		end 7
		modes found
	STEPS
}
keys_in_box() { local place=$scratch/keys-box && mkdir "$place" && keystrokes | person --quiet 350ms -- "$box" --engine none --exec "${shell_in_box[@]}"; }
keys_in_container() { local place=$scratch/keys-docker && mkdir "$place" && keystrokes | person --quiet 350ms -- bash -c "$(declare -f in_container); in_container \"\$@\"" sh "${shell_in_box[@]}"; }
# But for the title, which the launcher puts back at its end.
keys_of_box() { sed 's/\\x1b\[23;0t//' "$scratch/keys-box/.keys"; }
same_keys() { went_well keys_in_box && went_well keys_in_container && diff "$scratch/keys-docker/.keys" <(keys_of_box) && [ "$(wc -l <"$scratch/keys-box/.keys")" -gt 60 ]; }
# Every byte that a keyboard and a clipboard can send, and how many.
pasted() {
    local i
    for i in $(seq 0 255); do printf '%b' "\\x$(printf %x "$i")"; done
    printf '\020\021\020\020\021\021\377\377\377\376'
    openssl enc -aes-128-ctr -K 00112233445566778899aabbccddeeff -iv 0 -nosalt </dev/zero 2>/dev/null | head -c 65536
}
pasted >"$scratch/pasted"
raw_reader="stty raw -echo; echo ready; head -c $(stat -c %s "$scratch/pasted") | sha256sum; exit 3"
paste_steps() {
    cat <<-STEPS
		wait ready
		paste $scratch/pasted
		wait $(sha256sum <"$scratch/pasted" | cut -d' ' -f1)
		end 3
		modes found
	STEPS
}
paste_in_box() { paste_steps | person -- "$box" --engine none --exec sh -c "$raw_reader"; }
paste_in_container() { paste_steps | person -- bash -c "$(declare -f in_container); in_container \"\$@\"" sh sh -c "$raw_reader"; }
# What is typed before the harness listens is the harness's too, as typed.
typed_ahead() {
    person -- "${boxed[@]}" sh -c 'sleep 0.5; read -r a; read -r b; echo "got $a and $b"' <<-'STEPS'
		send "one\r"
		pause 300ms
		send "two\r"
		wait got one and two
		end 0
		never \^M
		modes found
	STEPS
}

## Size.
first_size() {
    person --size 12x34 -- "${boxed[@]}" sh -c 'stty size; trap "stty size" WINCH; echo ready; while :; do sleep 0.1; done' <<-'STEPS'
		wait \x0712 34\r\nready
		size 20 50
		wait 20 50
		size 33 133
		wait 33 133
		signal TERM
		end 143
	STEPS
}
# cage-init has read the size, and the harness does not run yet.
size_in_handshake() {
    CLAUDE_BOX_DEBUG=1 person --size 12x34 -- "${boxed[@]}" sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do echo "is $(stty size)."; sleep 0.1; done; exit 5' <<-'STEPS'
		wait phase handshake
		size 40 100
		wait is 40 100[.]
		end 5
		never is 40 100.*is 12 34
	STEPS
}

## Ways out.
# The harness leaves on whatever one can, without a word to the terminal.
modes_on='\033[>1u\033[?1049h\033[?2004h\033[?1000h\033[?1006h\033[?25l\033[?1h'
modes_off='\x1b\[\?1000l\x1b\[\?1006l\x1b\[\?2004l\x1b\[\?1l\x1b\[\?1049l\x1b\[\?25h\x1b\[<1u\x1b\[23;0t'
modes_on_again='\x1b\[>1u\x1b\[\?25l\x1b\[\?1049h\x1b\[\?1h\x1b\[\?2004h\x1b\[\?1006h\x1b\[\?1000h'
way_out() {
    local status=$1 step=$2 harness=$3
    person -- "${boxed[@]}" sh -c "ulimit -c 0; printf '$modes_on'; echo ready; $harness" <<-STEPS
		wait \\x1b\\[22;0t\\x1b\\]0;claude-box: [^\\x07]*\\x07.*ready
		modes raw
		$step
		wait $modes_off
		end $status
		modes found
	STEPS
}
wait_for_key='head -c 1 >/dev/null'
ways_out() (
    tried=0
    : >"$scratch/wrong"
    while IFS='|' read -r status step harness; do
        [ "$(jobs -rp | wc -l)" -lt 4 ] || wait -n
        { way_out "$status" "$step" "stty raw -echo; $harness" 2>&1 || echo "$status, $step, $harness: wrong"; } >>"$scratch/wrong" </dev/null &
        tried=$((tried + 1))
    done
    wait
    cat "$scratch/wrong"
    [ ! -s "$scratch/wrong" ] && [ $tried -gt 0 ]
)
harness_ends() {
    ways_out <<-END
		0|send "x"|$wait_for_key
		9|send "x"|$wait_for_key; exit 9
		143|send "x"|$wait_for_key; kill -TERM \$\$
		129|send "x"|$wait_for_key; kill -HUP \$\$
		131|send "x"|$wait_for_key; kill -QUIT \$\$
		137|send "x"|$wait_for_key; kill -KILL \$\$
		134|send "x"|$wait_for_key; kill -ABRT \$\$
	END
}
launcher_is_signalled() {
    ways_out <<-END
		143|signal TERM|exec sleep 60
		130|signal INT|exec sleep 60
		129|signal HUP|exec sleep 60
		131|signal QUIT|exec sleep 60
		2|signal ABRT|exec sleep 60
		2|signal SEGV|exec sleep 60
	END
}
engine_is_lost() {
    rm -f "$scratch/faulty.sock"
    "$tools/faulty-engine" --listen "$scratch/faulty.sock" --engine "$engine_socket" --rule "GET /none lose" &
    local engine=$!
    appears "$scratch/faulty.sock" || return
    DOCKER_HOST=unix://$scratch/faulty.sock way_out 126 "run kill $engine" 'exec sleep 60'
}
# A terminal that takes nothing keeps nobody from leaving.
stuck_screen() {
    person -- "${boxed[@]}" sh -c "printf '$modes_on'; exec yes" <<-'STEPS'
		wait y
		deaf on
		pause 1s
		signal TERM
		pause 100ms
		signal TERM
		end 143
		deaf off
		modes found
	STEPS
}
hangs_up() {
    local place
    place=$(new_project)
    person -- "${boxed[@]}" sh -c 'trap "echo hup >told; exit 23" HUP; echo ready; while :; do sleep 0.1; done' <<-'STEPS' || return
		wait ready
		hangup
		end 23
	STEPS
    is hup "$(cat "$place/told")"
}

## Suspend and resume.
# A shell that leaves the terminal's modes to its jobs, unlike bash.
plain_shell=(env 'PS1=$ ' ENV= dash -i)
key_by_key='stty raw -echo; echo ready; while :; do x=$(head -c 1); echo "key $x, size $(stty size)."; [ "$x" != q ] || exit 6; done'
# in_shell SHELL...: plays the steps on stdin to one in whose directory is a
# harness.sh.
in_shell() {
    local place
    place=$(new_project)
    printf '%s\n' "printf '$modes_on'; $key_by_key" >"$place/harness.sh"
    person -- "$@"
}
by_tstp() {
    in_shell "${plain_shell[@]}" <<-STEPS
		wait [$] $
		send "\$SHELL_BOX sh harness.sh\\r"
		wait ready
		modes raw
		send "a"
		wait key a,
		run kill -TSTP \$(ps -o pid= --ppid \$PID)
		wait $modes_off.*Stopped
		modes found
		size 31 71
		send "fg\\r"
		wait \\x1b\\[22;0t.*$modes_on_again
		modes raw
		pause 300ms
		send "b"
		wait key b, size 31 71
		run kill -TSTP \$(ps -o pid= --ppid \$PID)
		wait Stopped
		send "bg\\r"
		pause 300ms
		send "\\r"
		wait Stopped.*[$] 
		modes found
		send "fg\\r"
		modes raw
		send "q"
		wait $modes_off
		wait [$] $
		modes found
		send "echo status \$?\\r"
		wait status 6
		send "exit\\r"
		end 0
	STEPS
}
# A box that nobody watches over within 5 seconds of its start ends.
at_once() {
    in_shell "${plain_shell[@]}" <<-STEPS
		wait [$] $
		send "\$SHELL_BOX sh harness.sh\\r"
		wait ready
		run kill -TSTP \$(ps -o pid= --ppid \$PID)
		wait Stopped
		pause 6s
		send "fg\\r"
		wait $modes_on_again
		send "q"
		wait $modes_off.*[$] $
		send "exit\\r"
		end 6
	STEPS
}
# Nobody is told of a SIGSTOP: whoever is at the shell then has to make the
# terminal usable.
by_stop() {
    in_shell "${plain_shell[@]}" <<-STEPS
		wait [$] $
		send "\$SHELL_BOX sh harness.sh\\r"
		wait ready
		modes raw
		run kill -STOP \$(ps -o pid= --ppid \$PID)
		wait Stopped
		run stty sane -F /proc/\$PID/fd/0
		size 32 72
		send "fg\\r"
		modes raw
		pause 300ms
		send "b"
		wait key b, size 32 72
		send "q"
		wait $modes_off.*[$] $
		modes found
		send "exit\\r"
		end 6
	STEPS
}
# bash does keep and give back modes.
in_bash() {
    in_shell env 'PS1=$ ' bash --noprofile --norc -i <<-STEPS
		wait [$] $
		send "\$SHELL_BOX sh harness.sh\\r"
		wait ready
		modes raw
		run kill -TSTP \$(ps -o pid= --ppid \$PID)
		wait $modes_off.*Stopped.*[$] $
		send "fg\\r"
		wait $modes_on_again
		modes raw
		pause 300ms
		send "q"
		wait $modes_off.*[$] $
		send "exit\\r"
		end 6
		modes found
	STEPS
}
# A launcher whose shell is gone has nobody who would let it go on.
orphaned() {
    person -- "${boxed[@]}" sh -c "$key_by_key" <<-'STEPS'
		wait ready
		signal TSTP
		pause 300ms
		modes raw
		send "a"
		wait key a,
		send "q"
		end 6
		modes found
	STEPS
}
in_background() {
    in_shell "${plain_shell[@]}" <<-STEPS
		wait [$] $
		send "\$SHELL_BOX sh harness.sh &\\r"
		pause 1s
		modes found
		send "\\r"
		wait Stopped.*[$] 
		send "fg\\r"
		wait ready
		modes raw
		send "q"
		wait $modes_off.*[$] $
		modes found
		send "exit\\r"
		end 6
	STEPS
}

## Lines of the launcher's own.
# In raw mode nobody makes a newline a new line but the writer.
debug_lines() {
    CLAUDE_BOX_DEBUG=1 person -- "${boxed[@]}" sh -c 'sleep 1; exit 4' <<-'STEPS'
		wait phase handshake
		end 4
		wait debug
		never [^\r]\n
	STEPS
}

## Not all of the streams are terminals.
some_streams() {
    local redirection=$1 place
    place=$(new_project)
    person -- sh -c "\$SHELL_BOX sh -c 'test ! -t 0 && test ! -t 1 && test ! -t 2; echo \$? >tty; read -r x; echo got \$x >>tty' $redirection" <<-'STEPS' || return
		run for i in $(seq 100); do [ -s tty ] && break; sleep 0.1; done
		send "line\r"
		end 0
		modes found
	STEPS
    is "0 got line" "$(tr '\n' ' ' <"$place/tty" | sed 's/ $//')"
}
mixed() { some_streams '| cat' && some_streams '2>err'; }
# The shell and the reader ignore the key, so that the status is the reader's.
interrupted_pipeline() {
    person -- sh -c "trap '' INT; \$SHELL_BOX sh -c 'trap \"echo told; exit 3\" INT; echo ready; while :; do sleep 0.1; done' | cat" <<-'STEPS'
		wait ready
		send "\x03"
		wait told
		end 0
		modes found
	STEPS
}

ordinary() {
    local place=$user_project
    chmod 0777 "$place"
    person -- runuser -u "$user" -- env -i TERM=$TERM PATH=/usr/local/bin:/usr/bin:/bin HOME="$scratch/users/$user" \
        DOCKER_HOST="unix://$engine_socket" ${SSL_CERT_FILE:+SSL_CERT_FILE="$SSL_CERT_FILE"} \
        "$user_box" --engine none --exec sh -c "printf '$modes_on'; id -u; $key_by_key" <<-STEPS
		wait $(id -u "$user")\\r\\n.*ready
		modes raw
		send "\\x1a"
		wait key \\x1a,
		send "q"
		wait $modes_off
		end 6
		modes found
	STEPS
}

begin keys_in_box keys_in_box
begin keys_in_container keys_in_container
begin stuck_screen stuck_screen
t "64 KiB and every byte, pasted, arrive" paste_in_box
t "as with docker run -it" paste_in_container
t "what is typed ahead arrives as typed" typed_ahead
t "the size is right from the start, and at every change" first_size
t "a change in the handshake is not lost" size_in_handshake
t "the harness's own ends leave the terminal as found" harness_ends
t "signals to the launcher do, those that end it at once too" launcher_is_signalled
t "the loss of the engine does" engine_is_lost
t "a hangup is the harness's" hangs_up
t "SIGTSTP gives the terminal to the shell, and fg takes it back" by_tstp
t "the box of a launcher that is stopped at once lives" at_once
t "fg after SIGSTOP takes it back" by_stop
t "and in front of bash" in_bash
t "an orphan does not stop" orphaned
t "a launcher in the background waits for fg, as programs do" in_background
t "lines of the launcher begin at the left" debug_lines
t "no terminal in the box unless all streams are one" mixed
t "and Ctrl-C is a signal for the harness then" interrupted_pipeline
if [ "$(id -u)" = 0 ]; then
    t "an ordinary user is made" make_user
    t "an ordinary user has a terminal" ordinary
else
    skip "an ordinary user" "only root can make one"
fi
t "a terminal that takes nothing keeps no launcher" went_well stuck_screen
t "each key has docker run -it's answer" same_keys
finish
