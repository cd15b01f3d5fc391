#!/usr/bin/env bash
# Bad input, and machines on which the cage cannot be built: one line that names
# cause and fix, the right status, and the command never run uncaged.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
if [ -n "${SBOX_HERE:-}" ]; then source "$SBOX_HERE/common.bash"; else
    # shellcheck source=ci/acceptance/sbox/common.bash
    source "$(dirname "$0")/sbox/common.bash"
fi

# status NAME WANT COMMAND...
status() {
    local name=$1 want=$2 got out
    shift 2
    out=$("$@" 2>&1 </dev/null)
    got=$?
    if [ "$want" = "$got" ]; then ok "$name"; else bad "$name" "want status $want, got $got" "$out"; fi
}

# refused NAME PATTERN COMMAND...: status 126, one line that matches, and the
# command has not run.
refused() {
    local name=$1 pattern=$2 out got
    shift 2
    rm -f /tmp/sbox-ran
    out=$("$@" 2>&1 </dev/null)
    got=$?
    if [ $got = 126 ] && [ "$(printf '%s\n' "$out" | wc -l)" = 1 ] && grep -Eq "$pattern" <<<"$out" && [ ! -e /tmp/sbox-ran ]; then
        ok "$name"
    else
        bad "$name" "status $got" "$out"
    fi
    rm -f /tmp/sbox-ran
}

battery() {
    mkdir -p "$HOME/projects/p" "$HOME/evil" && cd "$HOME/projects/p" || return
    run='touch /tmp/sbox-ran'
    lines
    statuses
    descriptors
    places
    zones
    bubblewraps
}

lines() {
    status 'no command' 2 "$sbox"
    status 'no command after flags' 2 "$sbox" --private-tmp --
    status 'unknown flag' 2 "$sbox" --nonesuch true
    status 'a command that starts with a dash' 2 "$sbox" -x
    printf '#!/bin/sh\nexit 9\n' >-x && chmod +x -- -x
    status 'the same after --, on PATH' 9 env PATH="$PWD:$PATH" "$sbox" -- -x
    rm -- -x
    status '--git runs only git' 2 "$sbox" --git sh -c true
    status '--env without a name' 2 "$sbox" --env
    is 'newlines and invalid UTF-8' "$(printf 'a\nb|\377\376|' | od -c)" "$("$sbox" printf '%s|' $'a\nb' $'\377\376' | od -c)"
    is 'empty arguments' '[][x][]' "$("$sbox" printf '[%s]' '' x '')"
    local big
    big=$(head -c 100000 /dev/zero | tr '\0' x)
    is '1.8 MB of arguments' 1800000 "$("$sbox" sh -c 'printf %s "$@" | wc -c' sh "$big" "$big" "$big" "$big" "$big" "$big" "$big" "$big" "$big" \
        "$big" "$big" "$big" "$big" "$big" "$big" "$big" "$big" "$big")"
    is '2 MiB of arguments' 2000000 "$(ulimit -s 16384; "$sbox" sh -c 'printf %s "$@" | wc -c' sh "$big" "$big" "$big" "$big" "$big" "$big" "$big" "$big" "$big" "$big" \
        "$big" "$big" "$big" "$big" "$big" "$big" "$big" "$big" "$big" "$big")"
    is '30000 arguments' 30000 "$("$sbox" sh -c 'echo $#' sh $(seq 30000))"
}

statuses() {
    local n
    for n in 0 1 2 42 125 126 127 255; do status "status $n" $n "$sbox" sh -c "exit $n"; done
    status 'not found' 127 "$sbox" nonesuch
    status 'not found by path' 127 "$sbox" ./nonesuch
    status 'not executable' 126 "$sbox" /etc/passwd
    status 'a directory' 126 "$sbox" /usr
    printf '#!/nonexistent\n' >noint && chmod +x noint
    status 'no interpreter' 126 "$sbox" ./noint
    printf 'exit 5\n' >plain && chmod +x plain
    status 'a script without a first line' 5 "$sbox" ./plain
    for n in TERM HUP INT QUIT KILL SEGV USR1; do
        status "dies of $n" $((128 + $(kill -l $n))) "$sbox" sh -c "ulimit -c 0; kill -$n \$\$"
    done
    "$sbox" python3 -c '
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *a: sys.exit(33))
print("ready", flush=True)
time.sleep(20)' >out &
    local pid=$!
    until [ -s out ]; do sleep 0.05; done
    kill -TERM $pid
    wait $pid
    is 'a signal reaches the command, which handles it' 33 $?
    rm -f out noint plain
}

descriptors() {
    is 'standard input' hello "$(echo hello | "$sbox" cat)"
    is 'standard error stays apart' 'out' "$("$sbox" sh -c 'echo out; echo err >&2' 2>/dev/null)"
    status 'closed descriptors' 0 bash -c '"$0" true <&- >&- 2>&-' "$sbox"
    is 'thousands of descriptors' '0 1 2' "$(python3 - "$sbox" <<'P'
import os, subprocess, sys, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192)) if resource.getrlimit(resource.RLIMIT_NOFILE)[1] >= 8192 else None
n = min(5000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 50)
fds = [os.open("/etc/passwd", os.O_RDONLY) for _ in range(n)]
for fd in fds: os.set_inheritable(fd, True)
out = subprocess.run([sys.argv[1], "python3", "-c", """
import os
def is_open(i):
    try: os.fstat(i); return True
    except OSError: return False
print(*[i for i in range(7000) if is_open(i)])"""], close_fds=False, capture_output=True, text=True)
print(out.stdout.strip() or out.stderr)
P
)"
}

places() {
    mkdir gone && (
        cd gone && rmdir ../gone
        refused 'a deleted directory' 'current directory' "$sbox" sh -c "$run"
    )
    mkdir -p "$HOME/.ssh"
    (cd "$HOME/.ssh" && refused 'a directory that is hidden' 'not visible' "$sbox" sh -c "$run")
    refused 'HOME unset' HOME env -u HOME "$sbox" sh -c "$run"
    refused 'HOME relative' 'absolute' env HOME=home "$sbox" sh -c "$run"
    refused 'HOME missing' HOME env HOME=/nonexistent "$sbox" sh -c "$run"
    refused 'HOME is /' HOME env HOME=/ "$sbox" sh -c "$run"
    ln -sfn "$HOME" "$HOME/link"
    is 'HOME a symlink: keys are hidden' '' "$(echo secret >"$HOME/.ssh/k"; HOME=$HOME/link "$sbox" sh -c 'cat ~/.ssh/k' 2>/dev/null)"
    rm "$HOME/link"
    mkdir -p "$HOME/projects/odd" && (
        cd "$HOME/projects/odd" || exit
        mkfifo .git
        status 'a .git that is a FIFO' 0 timeout 10 "$sbox" true
        rm -rf .git
        ln -s .git .git
        status 'a .git that is a loop' 0 timeout 10 "$sbox" true
        rm -f .git
        echo 'gitdir: .git' >.git
        status 'a .git that names itself' 0 timeout 10 "$sbox" true
        head -c 50000000 /dev/zero >.git
        status 'a huge .git' 0 timeout 10 "$sbox" true
        rm -f .git && mkdir .git && echo ../.git >.git/commondir
        status 'a commondir that names itself' 0 timeout 10 "$sbox" true
    )
    rm -rf "$HOME/projects/odd"
}

# with_zone TOML: writes the settings.
with_zone() {
    mkdir -p "$HOME/.config/agent-cage" && printf '%s\n' "$1" >"$HOME/.config/agent-cage/zone.toml"
    chmod 0700 "$HOME/.config" "$HOME/.config/agent-cage"
    chmod 0600 "$HOME/.config/agent-cage/zone.toml"
}

zones() {
    # In a box root's settings alone count, and name its project.
    if [[ $identity = box* ]]; then
        with_zone 'roots = ["~/more"]'
        mkdir -p "$HOME/more"
        status 'a user of a box cannot widen its zone' 1 "$sbox" sh -c 'touch ~/more/x 2>/dev/null'
        rm -r "$HOME/more" "$HOME/.config/agent-cage"
        return
    fi
    with_zone 'roots = ["~/more"]'
    refused 'a root that is missing' 'more' "$sbox" sh -c "$run"
    mkdir "$HOME/more"
    status 'a root that is there' 0 "$sbox" sh -c 'touch ~/more/x'
    rm -r "$HOME/more" && ln -s "$HOME/evil" "$HOME/more"
    refused 'a root that leads out through a symlink' 'symlink' "$sbox" sh -c "$run"
    rm "$HOME/more" && mkfifo "$HOME/more"
    refused 'a root that is a FIFO' 'not a directory' timeout 10 "$sbox" sh -c "$run"
    rm "$HOME/more"
    with_zone 'roots = ["/dev/null"]'
    refused 'a root that is a device' 'dev' "$sbox" sh -c "$run"
    with_zone "roots = [\"$HOME\"]"
    refused 'a root that is home' 'home' "$sbox" sh -c "$run"
    with_zone 'roots = ["~/.config"]'
    refused 'a root that holds the settings' 'config' "$sbox" sh -c "$run"
    with_zone 'roots = '
    refused 'settings that cannot be read' 'zone.toml' "$sbox" sh -c "$run"
    with_zone 'private-tmp = true'
    is 'a private /tmp' 0 "$("$sbox" sh -c 'ls /tmp | wc -l')"
    with_zone 'cache = "shared"'
    mkdir -p "$HOME/.cache"
    "$sbox" sh -c 'echo x >~/.cache/shared'
    is 'a shared cache' x "$(cat "$HOME/.cache/shared")"
    rm "$HOME/.config/agent-cage/zone.toml"
    mv "$HOME/projects" "$HOME/projects.real" && ln -s projects.real "$HOME/projects"
    (cd "$HOME" && refused 'a default root that is a symlink' 'symlink' "$sbox" sh -c "$run")
    rm "$HOME/projects" && mv "$HOME/projects.real" "$HOME/projects"
}

bubblewraps() {
    mkdir -p "$HOME/projects/bin" "$HOME/bin" "$HOME/empty"
    printf '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift 3; touch /tmp/sbox-ran; exec "$@"\n' >"$HOME/projects/bin/bwrap"
    chmod +x "$HOME/projects/bin/bwrap"
    refused 'bubblewrap from the zone' 'inside the zone' env PATH="$HOME/projects/bin:$PATH" "$sbox" sh -c "$run"
    ln -sf "$HOME/projects/bin/bwrap" "$HOME/bin/bwrap"
    refused 'bubblewrap that leads into the zone' 'inside the zone' env PATH="$HOME/bin:$PATH" "$sbox" sh -c "$run"
    (cd "$HOME/projects/bin" && refused 'bubblewrap from a relative PATH' 'inside the zone' env PATH=".:$PATH" "$sbox" sh -c "$run")
    refused 'no bubblewrap' 'bubblewrap.*install' env PATH="$HOME/empty" "$sbox" /bin/touch /tmp/sbox-ran
    rm "$HOME/bin/bwrap"
    printf '#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 0.4.1 && exit\ntouch /tmp/sbox-ran\n' >"$HOME/bin/bwrap"
    chmod +x "$HOME/bin/bwrap"
    refused 'bubblewrap too old' 'too old.*install' env PATH="$HOME/bin:$PATH" "$sbox" sh -c "$run"
    printf '#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 0.9.0 && exit\necho "bwrap: setting up uid map: Permission denied" >&2; exit 1\n' >"$HOME/bin/bwrap"
    refused 'bubblewrap without permission' 'uid map: Permission denied' env PATH="$HOME/bin:$PATH" "$sbox" sh -c "$run"
    # As if a path had vanished between plan and mount: once, then every time.
    local real
    real=$(command -v bwrap)
    printf '#!/bin/sh\n[ "$1" = --version ] && exec %s --version\nif [ -e %s/gone ]; then rm %s/gone; echo "bwrap: Can'"'"'t find source path /x: No such file or directory" >&2; exit 1; fi\nexec %s "$@"\n' \
        "$real" "$HOME" "$HOME" "$real" >"$HOME/bin/bwrap"
    : >"$HOME/gone"
    status 'a path that vanishes is planned anew' 7 env PATH="$HOME/bin:$PATH" "$sbox" sh -c 'exit 7'
    printf '#!/bin/sh\n[ "$1" = --version ] && exec %s --version\necho >>%s/tries\necho "bwrap: Can'"'"'t find source path /x: No such file or directory" >&2; exit 1\n' \
        "$real" "$HOME" >"$HOME/bin/bwrap"
    refused 'paths that vanish each time' 'vanished.*run it again' env PATH="$HOME/bin:$PATH" "$sbox" sh -c "$run"
    is 'are planned anew once' 2 "$(wc -l <"$HOME/tries")"
    rm "$HOME/bin/bwrap" "$HOME/tries"
    "$sbox" --doctor --json >doctor.json
    is 'the doctor is content here' 0 $?
    check 'the doctor speaks JSON' python3 -c 'import json; d=json.load(open("doctor.json")); assert all(c["ok"] for c in d["checks"])'
    check '--print=json is JSON' bash -c '"$0" --print=json true | python3 -m json.tool >/dev/null' "$sbox"
    status 'the doctor without bubblewrap' 1 env PATH="$HOME/empty" "$sbox" --doctor
    if [ "$(id -u)" = 0 ]; then
        # Beside the homes: below /tmp a home is in the zone, which is refused.
        local stranger
        stranger=$(dirname "$HOME")/stranger
        mkdir -p "$stranger/projects" && chown -R 54321 "$stranger"
        status 'a caller whom the user database does not have' 9 setpriv --reuid 54321 --regid 54321 --clear-groups \
            env HOME="$stranger" sh -c 'cd ~/projects && exec "$0" sh -c "exit 9"' "$sbox"
        rm -rf "$stranger"
        local old
        old=$(cat /proc/sys/user/max_user_namespaces)
        # In a namespace of its own, so that nothing else on the machine notices.
        refused 'user.max_user_namespaces=0' 'max_user_namespaces' unshare -Ur bash -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$0" sh -c "'"$run"'"' "$sbox"
        is 'and the machine is as it was' "$old" "$(cat /proc/sys/user/max_user_namespaces)"
    fi
    refused 'a cage in a cage' '.' "$sbox" "$sbox" sh -c "$run"
}

start_as_both "$0" box
