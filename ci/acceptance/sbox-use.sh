#!/usr/bin/env bash
# What people do in a cage: build, test, serve, talk to a terminal; many at once.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
if [ -n "${SBOX_HERE:-}" ]; then source "$SBOX_HERE/common.bash"; else
    # shellcheck source=ci/acceptance/sbox/common.bash
    source "$(dirname "$0")/sbox/common.bash"
fi

# with TOOL NAME COMMAND...: a check, if the tool is there.
with() {
    local tool=$1
    shift
    if command -v "$tool" >/dev/null; then check "$@"; else ok "$1 # SKIP no $tool here"; fi
}

battery() {
    mkdir -p "$HOME/projects/p" "$HOME/.cache" && cd "$HOME/projects/p" || return
    git init -q -b main . && git config user.email a@b && git config user.name n
    languages
    servers
    signals
    system_places
    terminals
    many
}

languages() {
    echo 'int main(void){return 0;}' >m.c && printf 'm: m.c\n\tgcc -o m m.c\n' >Makefile
    with gcc 'make and gcc' "$sbox" sh -c 'make -s && ./m'
    mkdir -p gomod && printf 'module m\n\ngo 1.21\n' >gomod/go.mod && printf 'package m\n\nimport "testing"\n\nfunc TestM(t *testing.T) {}\n' >gomod/m_test.go
    with go 'go build and test' "$sbox" sh -c 'cd gomod && GOFLAGS=-mod=mod GOTOOLCHAIN=local go vet ./... && GOTOOLCHAIN=local go test ./...'
    with go 'go test again, from the cache of the cage' "$sbox" sh -c 'cd gomod && GOTOOLCHAIN=local go test ./... | grep -q cached'
    with python3 'python with multiprocessing' "$sbox" python3 -c '
import multiprocessing as mp
def f(x): return x*x
if __name__ == "__main__":
    with mp.Pool(4) as p: assert p.map(f, range(50))[7] == 49
    q = mp.Queue(); q.put(1); assert q.get() == 1'
    if python3 -c 'import ensurepip' 2>/dev/null; then check 'python venv' "$sbox" sh -c 'python3 -m venv v && v/bin/python -c "import sys; assert sys.prefix != sys.base_prefix"'; else ok 'python venv # SKIP no ensurepip here'; fi
    if [ -d "$SBOX_HERE/wheels" ]; then
        check 'pytest in a venv' "$sbox" sh -c 'v/bin/pip -q install --no-index --find-links "$SBOX_HERE/wheels" pytest && printf "import multiprocessing as mp\ndef f(x): return x\ndef test_m():\n    with mp.Pool(2) as p: assert p.map(f, [1]) == [1]\n" >test_m.py && v/bin/pytest -q test_m.py'
    fi
    with node 'node' "$sbox" node -e 'require("fs").writeFileSync("n", "1"); new (require("worker_threads").Worker)("process.exit(0)", {eval: true})'
    mkdir -p npm/dep && echo '{"name":"dep","version":"1.0.0"}' >npm/dep/package.json && echo '{"name":"p","version":"1.0.0","dependencies":{"dep":"file:dep"}}' >npm/package.json
    if command -v npm >/dev/null; then
        (cd npm && npm install --offline --silent --no-audit >/dev/null 2>&1)
        check 'npm ci --offline' "$sbox" sh -c 'cd npm && npm ci --offline --no-audit'
    fi
    check 'git status, log and diff' "$sbox" sh -c 'git status --short && git diff && git rev-parse --git-dir'
    check 'a file made in the cage is the caller'"'"'s' sh -c '"$0" touch made && [ -O made ]' "$sbox"
    with gdb 'gdb starts a program' "$sbox" gdb -batch -ex run -ex quit /bin/true
}

servers() {
    check 'a server and its client in one cage' "$sbox" bash -c '
        python3 -m http.server --bind 127.0.0.1 8765 >/dev/null 2>&1 & sleep 1
        python3 -c "import urllib.request; assert urllib.request.urlopen(\"http://127.0.0.1:8765/\").status == 200"'
    check 'unix sockets, named and abstract' "$sbox" python3 -c '
import socket
for name in ("/tmp/sbox-use.sock", "\0sbox-use"):
    s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen()
    socket.socket(socket.AF_UNIX).connect(name); s.accept()
import os; os.unlink("/tmp/sbox-use.sock")'
}

# What a machine may have in /run and /dev: only root can put it there.
system_places() {
    is 'a private /tmp by flag' '0 shared' "$("$sbox" --private-tmp sh -c 'ls -A /tmp | wc -l') $(touch "/tmp/sbox-use-$$" && "$sbox" sh -c "[ -e /tmp/sbox-use-$$ ] && echo shared"; rm -f "/tmp/sbox-use-$$")"
    [ "$(id -u)" = 0 ] || return
    local store=/run/sbox-check-$$ node=/dev/nvidia-sbox-check-$$ caps=/dev/nvidia-caps
    mkdir -p "$store/store/bin" && ln -s store "$store/system" && printf '#!/bin/sh\necho ran\n' >"$store/store/bin/tool" && chmod +x "$store/store/bin/tool"
    touch "$store/socket"
    is 'programs below /run that PATH names, and nothing beside them' 'ran no' \
        "$(PATH=$store/system/bin:$PATH "$sbox" sh -c 'tool; [ -e "$0" ] && echo yes || echo no' "$store/socket" | xargs)"
    rm -rf "$store"
    if [ -e $caps ] || ! mknod "$node" c 1 3 || ! mkdir $caps || ! mknod $caps/nvidia-cap1 c 1 5; then
        ok 'GPU nodes # SKIP none can be made here'
        rm -f "$node"
        return
    fi
    is 'GPU nodes are those that exist, and open' 'open open' \
        "$("$sbox" sh -c 'for n in "$@"; do (: <"$n") && echo open; done' sh "$node" $caps/nvidia-cap1 | xargs)"
    rm -rf "$node" $caps
    is 'and none without' no "$("$sbox" sh -c '[ -e "$0" ] && echo yes || echo no' "$node")"
}

# The command inherits what its caller ignores and blocks, and nothing else.
signals() {
    local how want got
    for how in '()' 'range(1, 32)' '(1, 2)' '(3, 10, 13, 15, 17, 20, 21, 22, 23, 28, 34, 64)'; do
        read -r want got < <(python3 - "$sbox" "$how" <<'P'
import signal, subprocess, sys
how = [s for s in eval(sys.argv[2]) if s not in (signal.SIGKILL, signal.SIGSTOP)]
for s in (signal.SIGPIPE, signal.SIGXFSZ): signal.signal(s, signal.SIG_DFL)
for s in how: signal.signal(s, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [12, 40])
def seen(*before):
    out = subprocess.run([*before, "grep", "Sig[BI]", "/proc/self/status"], capture_output=True, text=True, restore_signals=False).stdout
    return "".join(out.split()) or "nothing"
print(seen(), seen(sys.argv[1]))
P
)
        is "signals ignored and blocked: $how" "$want" "$got"
    done
    is 'a TERM that the caller ignores does not end the command' alive "$(trap '' TERM; "$sbox" sh -c 'kill $$; echo alive')"
}

terminals() {
    cat >"/tmp/sbox-use-$$.py" <<'P'
# Drives a shell on a terminal of its own: pty SCRIPT, where each step waits for
# a text and types another.
import os, pty, re, select, sys, time
sbox, what = sys.argv[1], sys.argv[2]
pid, fd = pty.fork()
if pid == 0:
    os.environ["PS1"] = "outer> "
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
seen = ""
def expect(text, limit=15):
    global seen
    end = time.time() + limit
    while time.time() < end:
        m = re.search(text, seen)
        if m:
            seen = seen[m.end():]
            return
        if select.select([fd], [], [], 0.2)[0]:
            try: seen += os.read(fd, 4096).decode(errors="replace")
            except OSError: break
    sys.exit("no %r in %r" % (text, seen[-500:]))
def say(text): os.write(fd, text.encode())
expect("outer> ")
if what == "interrupt":
    say(sbox + " python3 -c 'import time\ntry:\n  print(\"st\"+\"art\"); time.sleep(20)\nexcept KeyboardInterrupt:\n  time.sleep(.5); print(\"hand\"+\"led\")'\n")
    expect("start"); say("\x03"); expect("handled"); expect("outer> ")
elif what == "status":
    say(sbox + " sleep 20\n"); time.sleep(1); say("\x03"); expect("outer> "); say("echo st=$?\n"); expect("st=130")
elif what == "stop":
    say(sbox + " sh -c 'echo st\"art\"; sleep 3; echo en\"ded\"'\n"); expect("start")
    say("\x1a"); expect("Stopped"); expect("outer> "); say("fg\n"); expect("ended"); expect("outer> ")
elif what == "background":
    say(sbox + " sh -c 'sleep 1; read x; echo got-$x' &\n"); expect("outer> ")
    time.sleep(2.5); say("\n"); expect("Stopped"); say("fg\n"); time.sleep(.5); say("line\n"); expect("got-line")
elif what == "shell":
    say(sbox + " env PS1='inner> ' bash --norc --noprofile -i\n"); expect("inner> ")
    say("sleep 30\n"); time.sleep(.7); say("\x1a"); expect("Stopped"); expect("inner> ")
    say("jobs; kill %1; wait; echo de\"ad\"\n"); expect("dead"); say("tty; exit 7\n"); expect("outer> "); say("echo st=$?\n"); expect("st=7")
elif what == "pipe":
    say(sbox + " seq 1 100000 | less\n"); expect("1\r?\n"); say("q"); expect("outer> ")
    say("echo wo\"rd\" | " + sbox + " cat\n"); expect("word"); expect("outer> ")
elif what == "script":
    say("bash -c '" + sbox + " sleep 20; echo went-on'\n"); time.sleep(1.2); say("\x03"); expect("outer> "); say("echo st=$?\n"); expect("st=1[0-9][0-9]")
    if "went-on" in seen: sys.exit("the script went on")
elif what == "tmux":
    say(sbox + " env TERM=xterm tmux -f /dev/null new-session 'echo in-tm\"ux\"; sleep 1'\n"); expect("in-tmux", 20); expect("outer> ", 20)
elif what == "size":
    say("stty cols 91 rows 33; " + sbox + " stty size\n"); expect("33 91")
say("exit\n")
P
    local w
    for w in interrupt status stop background shell pipe script size; do
        check "terminal: $w" timeout 60 python3 "/tmp/sbox-use-$$.py" "$sbox" $w
    done
    with tmux 'terminal: tmux' timeout 60 python3 "/tmp/sbox-use-$$.py" "$sbox" tmux
    rm -f "/tmp/sbox-use-$$.py"
}

many() {
    local i pids=() bad=0
    rm -rf many && mkdir many
    for i in $(seq 200); do
        "$sbox" sh -c "echo $i >~/.cache/many; [ \"\$(cat ~/.cache/many)\" = $i ] && touch many/$i" 2>>many.err &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i" || bad=$((bad + 1)); done
    is '200 at once' '0 200' "$bad $(find many -type f | wc -l)"
    is 'and nothing of theirs is left' '. .git' "$(find . -maxdepth 1 -name '.*' -printf '%f\n' | sort | xargs)"
    [ $bad = 0 ] || sort many.err | uniq -c | head -5 | sed 's/^/# /'
}

start_as_both "$0" box
