#!/usr/bin/env bash
# Attacks the cage's walls from inside, each with the real thing on the other
# side, and shows that the same attack works without the wall.
# shellcheck disable=SC1091,SC2010,SC2016,SC2034,SC2097,SC2098,SC2154
if [ -n "${SBOX_HERE:-}" ]; then source "$SBOX_HERE/common.bash"; else
    # shellcheck source=ci/acceptance/sbox/common.bash
    source "$(dirname "$0")/sbox/common.bash"
fi

# listen PATH-OR-@NAME: a unix socket that accepts, in the background.
listen() {
    python3 - "$1" <<'P' &
import socket, sys
p = sys.argv[1]
s = socket.socket(socket.AF_UNIX)
s.bind("\0" + p[1:] if p[0] == "@" else p)
s.listen(64)
while True:
    s.accept()
P
    pids+=($!)
}

battery() {
    attack=$SBOX_BASE/bin/attack
    pids=()
    local uid project=$HOME/projects/p
    uid=$(id -u)
    trap 'kill "${pids[@]}" 2>/dev/null; tmux -L sbox-check kill-server 2>/dev/null; rm -rf "/tmp/sbox-check-$uid"' EXIT
    mkdir -p "$project" "$HOME/.cache" "$HOME/.ssh" "$HOME/.config/gh" "$HOME/work/app" "/tmp/sbox-check-$uid"
    cd "$project" || return
    export attack project uid
    setup_neighbours
    files
    network
    sockets
    processes
    calls
    gitdirs
    laterfiles
    races
    kill "${pids[@]}" 2>/dev/null
}

setup_neighbours() {
    git init -q -b main . && git config user.email a@b && git config user.name n
    echo a >a && git add a && git commit -qm 1
    git init -q "$HOME/projects/sibling"
    echo key-material >"$HOME/.ssh/id_test"
    echo token >"$HOME/.config/gh/hosts.yml"
    echo token >"$HOME/.npmrc"
    echo "SECRET=1" >"$HOME/work/app/.env.local"
    echo ls >"$HOME/.bash_history"
    echo cached >"$HOME/.cache/tool"
    eval "$(ssh-agent -s)" >/dev/null
    pids+=("$SSH_AGENT_PID")
    agent_socket=$SSH_AUTH_SOCK
    ssh-agent -a "$HOME/projects/agent.sock" >/dev/null
    pids+=("$(pgrep -n -u "$(id -u)" ssh-agent)")
    tmux -L sbox-check new-session -d 'sleep 600'
    tmux_socket=/tmp/tmux-$uid/sbox-check
    dbus_socket=/tmp/sbox-check-$uid/bus
    dbus-daemon --session --nofork --address="unix:path=$dbus_socket" >/dev/null 2>&1 &
    pids+=($!)
    mkdir -m 1777 /tmp/.X11-unix 2>/dev/null
    x_socket=/tmp/.X11-unix/X$((7000 + uid % 1000))
    rm -f "$x_socket"
    listen "$x_socket"
    listen "@sbox-check-$uid"
    listen "$HOME/docker.sock"
    (cd "$project" && listen ./relative.sock)
    pids+=("$(pgrep -n -u "$(id -u)" -f relative.sock)")
    python3 -m http.server --bind 127.0.0.1 $((20000 + uid % 1000)) -d "$HOME/.config/gh" >/dev/null 2>&1 &
    pids+=($!)
    port=$((20000 + uid % 1000))
    sleep 600 &
    neighbour=$!
    pids+=($!)
    export agent_socket tmux_socket dbus_socket x_socket port neighbour
    local tries=0
    until [ -S "$x_socket" ] && [ -S "$dbus_socket" ] && [ -S "$HOME/docker.sock" ] && [ $tries -gt 2 ]; do
        tries=$((tries + 1))
        [ $tries -lt 40 ] || break
        sleep 0.5
    done
}

files() {
    wall 'ssh keys' 'grep -q key-material ~/.ssh/id_test'
    wall 'VCS login' 'grep -q token ~/.config/gh/hosts.yml'
    wall 'registry token' 'grep -q token ~/.npmrc'
    wall 'shell history' 'grep -q ls ~/.bash_history'
    wall '.env of another project' 'grep -q SECRET ~/work/app/.env.local'
    wall 'another HOME does not uncover the keys' 'grep -q key-material ~/.ssh/id_test || grep -q key-material "'"$HOME"'/.ssh/id_test"'
    # The user database knows the home of a user, and not the one made for root here.
    [ "$(id -u)" = 0 ] || HOME=/tmp/sbox-check-$uid held 'keys stay hidden when HOME is changed' 'grep -rq key-material "'"$HOME"'/.ssh"'
    wall 'write into home' 'touch ~/.sbox-check && rm ~/.sbox-check'
    wall 'write beside the zone' 'touch ~/work/x && rm ~/work/x'
    wall 'write the host cache' 'echo poison >~/.cache/poison; [ -e ~/.cache/poison ] && '"$sbox"' true 2>/dev/null; rm ~/.cache/poison; [ ! -e /run/sbox/start ]'
    "$sbox" sh -c 'echo poison >~/.cache/tool; echo poison >~/.cache/new' 2>/dev/null
    is 'the host cache is as it was' cached "$(cat "$HOME/.cache/tool"; ls "$HOME/.cache" | grep -x new)"
    is 'the layer lasts from run to run' poison "$("$sbox" cat "$HOME/.cache/new")"
    wall 'environment: token' 'export X; [ -n "$GITHUB_TOKEN" ] || { [ ! -e /run/sbox/start ]; }'
    is 'environment: dropped and kept' ':kept' "$(GITHUB_TOKEN=t A_KEY=kept LD_PRELOAD=/nonexistent.so "$sbox" --env A_KEY sh -c 'echo "$GITHUB_TOKEN$LD_PRELOAD:$A_KEY"' 2>/dev/null)"
    printf 'touch %s\n' "/tmp/sbox-check-$uid/sourced" >"$project/env.sh"
    BASH_ENV=$project/env.sh "$sbox" bash -c true
    is 'environment: BASH_ENV' no "$([ -e "/tmp/sbox-check-$uid/sourced" ] && echo yes || echo no)"
    exec 9<"$HOME/.ssh/id_test"
    wall 'inherited descriptor' 'grep -q key-material <&9'
    exec 9<&-
    wall 'a set-user-id file in the zone' '"$attack" setuid-file'
    wall 'shared memory' 'touch /dev/shm/sbox-check-$uid && rm /dev/shm/sbox-check-$uid && [ ! -e /run/sbox/start ]'
    if [ "$uid" = 0 ]; then
        wall 'password hashes' 'grep -q . /etc/shadow'
        wall 'core_pattern' 'cat /proc/sys/kernel/core_pattern >/proc/sys/kernel/core_pattern'
        where '[ -e /proc/sysrq-trigger ]' 'sysrq' 'echo h >/proc/sysrq-trigger'
        where '[ -e /proc/kcore ]' 'kernel memory' 'head -c 4096 /proc/kcore | grep -q ELF'
        wall 'sysfs' 'cat /sys/kernel/mm/transparent_hugepage/enabled >/dev/null && echo madvise >/sys/kernel/mm/transparent_hugepage/enabled'
        where 'head -c 1 "/dev/$(awk "NR>2{print \$4; exit}" /proc/partitions)" >/dev/null' 'disks' 'disk=$(awk "/^[a-z]/{next} NF>3{print \$4; exit}" /proc/partitions); head -c 512 "/dev/$disk" >/dev/null'
    fi
}

network() {
    wall 'a listener of the host' 'python3 -c "import socket;socket.create_connection((\"127.0.0.1\",$port),3)"'
    wall 'abstract socket' '"$attack" abstract sbox-check-$uid'
    is 'Network is unreachable' '101' "$("$sbox" python3 -c '
import socket
s=socket.socket()
try: s.connect(("192.0.2.1",9))
except OSError as e: print(e.errno)')"
    check 'loopback is up inside' "$sbox" python3 -c '
import socket
l=socket.socket(); l.bind(("127.0.0.1",0)); l.listen()
c=socket.create_connection(l.getsockname()); l.accept()'
    call vsock
    call alg
}

sockets() {
    wall 'ssh-agent' 'SSH_AUTH_SOCK=$agent_socket ssh-add -l; [ $? -le 1 ]'
    wall 'ssh-agent in the zone' '"$attack" connect ~/projects/agent.sock'
    wall 'tmux' 'tmux -S "$tmux_socket" list-sessions'
    wall 'D-Bus' '"$attack" connect "$dbus_socket"'
    wall 'X' '"$attack" connect "$x_socket"'
    wall 'an engine in the home directory' '"$attack" connect ~/docker.sock'
    wall 'a socket bound by a relative name' '"$attack" connect ~/projects/p/relative.sock'
    if [ -S /var/run/docker.sock ] && [ "$uid" = 0 ]; then
        wall 'dockerd' '"$attack" connect /var/run/docker.sock'
    fi
    held 'no sockets in /run' 'find /run /var/run -type s | grep -q .'
}

processes() {
    wall 'see a neighbour' 'grep -q sleep /proc/$neighbour/comm'
    wall 'signal a neighbour' 'kill -0 $neighbour'
    wall 'trace a neighbour' 'head -c 1 /proc/$neighbour/environ | wc -c | grep -q 1'
    bash -c 'trap "echo survived" EXIT; "$0" bash -c "kill -9 0; sleep 5"; true' "$sbox" >"/tmp/sbox-check-$uid/kill" 2>/dev/null
    is 'kill -9 0 ends the cage alone' survived "$(cat "/tmp/sbox-check-$uid/kill")"
    check 'kill -9 -1 ends the cage alone' bash -c '"$0" bash -c "kill -9 -1; true"; kill -0 $neighbour' "$sbox"
    "$sbox" sh -c 'sleep 300 & sleep 300' &
    local pid=$!
    sleep 1
    local inside
    inside=$(pgrep -u "$(id -u)" -fc '^sleep 300')
    kill -9 "$pid"
    sleep 1
    is 'dies with its parent' '2 0' "$inside $(pgrep -u "$(id -u)" -fc '^sleep 300')"
    is 'no capability, no new privileges' '0000000000000000 0000000000000000 1' \
        "$("$sbox" awk '/CapEff|CapBnd|NoNewPrivs/{printf s $2; s=" "}' /proc/self/status)"
    is 'first to go when memory is short' 1000 "$("$sbox" cat /proc/self/oom_score_adj)"
    wall 'the host name' 'hostname "$(hostname)" || [ ! -e /run/sbox/start ]'
}

# call ATTACK: a system call. Where this kernel or this caller refuses it anyway,
# only that it is refused inside is checked; the filter's own tests know more.
call() {
    if "$attack" "$1" </dev/null 2>/dev/null; then
        wall "call: $1" '"$attack" '"$1"
    else
        held "call: $1 (refused outside too)" '"$attack" '"$1"
    fi
} 2>/dev/null

calls() {
    local c
    for c in tiocsti tiocsti-high tioclinux perf userfaultfd io_uring bpf open_tree clone-user clone3 unshare-user \
        ptrace-attach process_vm_readv keyctl add_key mount kexec; do call $c; done
    if [ "$(uname -m)" = x86_64 ]; then
        for c in tiocsti-x32 tiocsti-x32-native tiocsti-i386 keyctl-i386 unshare-i386 socketcall-i386; do call $c; done
    fi
    check 'call: a debugger can trace its own child' "$sbox" "$attack" ptrace-traceme
    held 'nested user namespace' 'unshare -U true'
    check 'nested user namespace, allowed' "$sbox" --allow-userns unshare -U true
}

gitdirs() {
    held 'write a hook' 'echo x >.git/hooks/pre-commit'
    held 'write the config' 'git config core.fsmonitor evil'
    held 'rename .git' 'mv .git x'
    held 'rename the project' 'mv ~/projects/p ~/projects/x'
    held 'write a sibling repository' 'echo x >~/projects/sibling/.git/hooks/pre-commit'
    held 'rename a sibling' 'mv ~/projects/sibling ~/projects/x'
    held 'plant commondir' 'echo /tmp >.git/commondir'
    "$sbox" git init -q "$HOME/projects" >"/tmp/sbox-check-$uid/said" 2>&1
    is 'a repository above is set aside' '1 no' \
        "$(grep -c 'set aside' "/tmp/sbox-check-$uid/said") $([ -e "$HOME/projects/.git" ] && echo yes || echo no)"
    rm -rf "$HOME"/projects/.git.set-aside*
    git init -q "$HOME/projects/real" && mkdir -p "$HOME/projects/link" && ln -s ../real/.git "$HOME/projects/link/.git"
    (cd "$HOME/projects/link" && "$sbox" sh -c 'rm .git; git init -q .' 2>/dev/null)
    is 'a linked .git is put back' ../real/.git "$(readlink "$HOME/projects/link/.git")"
}

laterfiles() {
    mkdir -p .vscode && echo '{}' >.vscode/tasks.json
    wall 'editor tasks' 'echo "{}" >.vscode/tasks.json'
    local f
    for f in .envrc .bashrc .mcp.json .gitattributes .gitmodules .pre-commit-config.yaml; do
        wall "plant $f" "touch $f && echo x >>$f && rm $f"
    done
    for f in .idea .claude .codex .husky; do
        wall "plant $f/" "mkdir -p $f && touch $f/x && rm -r $f"
    done
    is 'placeholders are gone' '.. .git .vscode' "$(ls -a | grep '^\.' | grep -vx '\.' | sort | xargs)"
    "$sbox" sleep 300 &
    local pid=$!
    sleep 1
    kill -9 $pid
    sleep 0.5
    local left
    left=$(ls -a | grep -c '^\.')
    (cd "$HOME/projects/sibling" && "$sbox" true)
    is 'placeholders of a killed cage are gone after the next call' "many 4" \
        "$([ "$left" -gt 10 ] && echo many || echo "$left") $(ls -a | grep -c '^\.')"
    "$sbox" sh -c 'sleep 2; echo x >.envrc' 2>/dev/null &
    pid=$!
    sleep 0.7
    "$sbox" true
    wait $pid
    is 'a second cage does not take the placeholders of the first' no "$([ -e .envrc ] && echo yes || echo no)"
    is 'git in the cage does not list placeholders' '' "$("$sbox" git status --short 2>&1 | grep -v -e 'vscode' -e 'env.sh' -e 'relative')"
}

# A command in one cage exchanges a directory for a link while another cage is
# being built: that one must not get what the link leads to, writable.
races() {
    mkdir -p "$HOME/projects/r/sub" && git init -q "$HOME/projects/r"
    python3 - "$HOME/projects" <<'P' &
import os, sys
os.chdir(sys.argv[1])
while True:
    try:
        os.rename("r", "r.real"); os.symlink("../work", "r"); os.unlink("r"); os.rename("r.real", "r")
    except OSError:
        pass
P
    local pid=$! i
    for i in $(seq 15); do
        "$sbox" sh -c 'touch ~/work/escaped ~/projects/r/escaped-by-link' 2>/dev/null
    done
    kill $pid
    wait $pid 2>/dev/null
    is 'a directory exchanged for a link' no "$([ -e "$HOME/work/escaped" ] && echo yes || echo no)$([ -e "$HOME/work/escaped-by-link" ] && echo yes)"
}

start_as_both "$0"
