#!/usr/bin/env bash
# Attacks the cage's walls from inside, each with the real thing on the other
# side, and shows that the same attack works without the wall: as root, as an
# ordinary user, and in a box.
# shellcheck disable=SC1091,SC2010,SC2016,SC2034,SC2097,SC2098,SC2154
if [ -n "${SBOX_HERE:-}" ]; then source "$SBOX_HERE/common.bash"; else
    # shellcheck source=ci/acceptance/sbox/common.bash
    source "$(dirname "$0")/sbox/common.bash"
fi

# begin NAME TEST COMMAND...: a server in the background, awaited: TEST is a
# condition of test(1).
begin() {
    local name=$1 condition=$2 tries=0
    shift 2
    "$@" >/dev/null 2>&1 &
    pids+=($!)
    until eval "test $condition"; do
        tries=$((tries + 1))
        if [ $tries -gt 100 ]; then
            bad "$name can be started"
            return
        fi
        sleep 0.1
    done
}

battery() {
    attack=$SBOX_BASE/bin/attack
    pids=()
    uid=$(id -u) project=$HOME/projects/p tag=sbox-check-$RANDOM$RANDOM
    aside=/tmp/$tag
    trap 'kill "${pids[@]}" 2>/dev/null; tmux -S "$aside/tmux" kill-server 2>/dev/null; rm -rf "$aside"' EXIT
    mkdir -p "$project" "$HOME/.cache" "$HOME/.ssh" "$HOME/.config/gh" "$HOME/work/app" "$aside"
    cd "$project" || return
    export attack project uid tag aside
    setup_neighbours
    files
    network
    sockets
    processes
    calls
    gitdirs
    laterfiles
    races
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
    mkdir -m 0700 "/tmp/ssh-$tag"
    agent_socket=/tmp/ssh-$tag/agent.1
    begin ssh-agent "-S $agent_socket" ssh-agent -D -a "$agent_socket"
    begin ssh-agent "-S $HOME/projects/agent.sock" ssh-agent -D -a "$HOME/projects/agent.sock"
    tmux_socket=$aside/tmux
    ! command -v tmux >/dev/null || tmux -S "$tmux_socket" new-session -d 'sleep 600'
    dbus_socket=$aside/bus
    if command -v dbus-daemon >/dev/null; then
        begin dbus-daemon "-S $dbus_socket" dbus-daemon --session --nofork --address="unix:path=$dbus_socket"
    fi
    mkdir -p /tmp/.X11-unix && chmod 1777 /tmp/.X11-unix 2>/dev/null
    x_socket=/tmp/.X11-unix/X7000
    begin 'an X server' "-S $x_socket" "$attack" serve "$x_socket"
    begin 'an abstract socket' '-n "$(grep "@$tag" /proc/net/unix)"' "$attack" serve "@$tag"
    begin 'an engine' "-S $HOME/docker.sock" "$attack" serve "$HOME/docker.sock"
    begin 'a socket' "-S relative.sock" "$attack" serve relative.sock
    begin 'a listener' "-s $aside/port" "$attack" serve ":$aside/port"
    port=$(cat "$aside/port")
    sleep 600 &
    neighbour=$!
    pids+=("$neighbour")
    export agent_socket tmux_socket dbus_socket x_socket port neighbour
}

files() {
    wall 'ssh keys' 'grep -q key-material ~/.ssh/id_test'
    wall 'VCS login' 'grep -q token ~/.config/gh/hosts.yml'
    wall 'registry token' 'grep -q token ~/.npmrc'
    wall 'shell history' 'grep -q ls ~/.bash_history'
    wall '.env of another project' 'grep -q SECRET ~/work/app/.env.local'
    # The user database knows the home of a user, and not the one made for root here.
    [ "$uid" = 0 ] || HOME=$aside wall 'keys stay hidden when HOME is changed' 'grep -rq key-material "'"$HOME"'/.ssh"'
    wall 'write into home' 'touch ~/.sbox-check && rm ~/.sbox-check'
    wall 'write beside the zone' 'touch ~/work/x && rm ~/work/x'
    "$sbox" sh -c 'echo poison >~/.cache/tool; echo poison >~/.cache/new' 2>/dev/null
    is 'the host cache is as it was' cached "$(cat "$HOME/.cache/tool"; ls "$HOME/.cache" | grep -x new)"
    is 'the layer lasts from run to run' poison "$("$sbox" cat "$HOME/.cache/new")"
    mkdir -p "$HOME/.npm" && echo cached >"$HOME/.npm/tool"
    "$sbox" sh -c 'echo poison >~/.npm/tool; touch ~/.npm/new' 2>/dev/null
    is "so is npm's" "cached" "$(cat "$HOME/.npm/tool"; ls "$HOME/.npm" | grep -x new)"
    is "and npm's layer can be written" 0 "$("$sbox" sh -c 'touch ~/.npm/new' >/dev/null 2>&1; echo $?)"
    GITHUB_TOKEN=t wall 'environment: a token' '[ "$GITHUB_TOKEN" = t ]'
    A_KEY=k wall 'environment: a key' '[ "$A_KEY" = k ]'
    DOCKER_HOST=t wall 'environment: an engine' '[ "$DOCKER_HOST" = t ]'
    is 'environment: a key is kept by --env' kept "$(A_KEY=kept "$sbox" --env A_KEY sh -c 'echo "$A_KEY"')"
    printf 'touch %s\n' "$aside/sourced" >env.sh
    BASH_ENV=$project/env.sh "$sbox" bash -c true
    is 'environment: BASH_ENV acts neither inside nor on sbox' no "$([ -e "$aside/sourced" ] && echo yes || echo no)"
    BASH_ENV=$project/env.sh bash -c true
    is 'environment: BASH_ENV acts without the wall' yes "$([ -e "$aside/sourced" ] && echo yes || echo no)"
    rm -f env.sh
    # Opened anew, for where the first reader left off is shared.
    exec 9<"$HOME/.ssh/id_test"
    wall 'inherited descriptor' 'grep -q key-material /proc/self/fd/9'
    exec 9<&-
    wall 'a set-user-id file in the zone' '"$attack" setuid-file'
    touch "/dev/shm/$tag"
    wall 'shared memory' '[ -e "/dev/shm/$tag" ]'
    rm -f "/dev/shm/$tag"
    if [ "$uid" = 0 ]; then
        wall 'password hashes' 'grep -q . /etc/shadow'
        wall 'core_pattern' 'cat /proc/sys/kernel/core_pattern >/proc/sys/kernel/core_pattern'
        where '[ -e /proc/sysrq-trigger ]' 'sysrq' 'echo h >/proc/sysrq-trigger'
        where '[ -e /proc/kcore ]' 'kernel memory' 'head -c 4096 /proc/kcore | grep -q ELF'
        wall 'sysfs' 'f=/sys/kernel/mm/transparent_hugepage/enabled; now=$(sed "s/.*\[//;s/\].*//" $f) && echo "$now" >$f'
        where 'head -c 1 "/dev/$(awk "NR>2{print \$4; exit}" /proc/partitions)" >/dev/null' 'disks' 'disk=$(awk "/^[a-z]/{next} NF>3{print \$4; exit}" /proc/partitions); head -c 512 "/dev/$disk" >/dev/null'
        wall 'the host name' 'hostname "$(hostname)"'
        echo root-only >"/etc/$tag" && chmod 0600 "/etc/$tag"
        wall 'what only root can read' 'grep -q root-only "/etc/$tag"'
        rm -f "/etc/$tag"
    fi
}

network() {
    wall 'a listener of the host' '"$attack" connect ":$port"'
    wall 'abstract socket' '"$attack" connect "@$tag"'
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
    wall 'ssh-agent in the zone' 'SSH_AUTH_SOCK=~/projects/agent.sock ssh-add -l; [ $? -le 1 ]'
    where 'command -v tmux' 'tmux' 'tmux -S "$tmux_socket" list-sessions'
    where 'command -v dbus-daemon' 'D-Bus' '"$attack" connect "$dbus_socket"'
    wall 'X' '"$attack" connect "$x_socket"'
    wall 'an engine in the home directory' '"$attack" connect ~/docker.sock'
    wall 'a socket bound by a relative name' '"$attack" connect ~/projects/p/relative.sock'
    where '"$attack" connect /var/run/docker.sock' 'dockerd' '"$attack" connect /var/run/docker.sock'
    if [ "$uid" = 0 ]; then
        mkdir -m 0700 "$aside/theirs" && git init -q "$aside/theirs" && chown -R nobody "$aside/theirs"
        begin "another user's server" "-S $aside/theirs/s" setpriv --reuid nobody --clear-groups "$attack" serve "$aside/theirs/s"
        wall "a server in another user's closed directory" '"$attack" connect "$aside/theirs/s"'
    fi
    where 'find /run /var/run/ -type s | grep -q .' 'no sockets in /run' 'find /run /var/run/ -type s 2>/dev/null | grep -q .'
}

# own_namespaces: the cage has its own of each kind.
own_namespaces() {
    local n
    for n in user pid net ipc uts cgroup mnt; do
        if [ "$(readlink "/proc/self/ns/$n")" != "$("$sbox" readlink "/proc/self/ns/$n")" ]; then ok "namespace: $n"; else bad "namespace: $n"; fi
    done
}

processes() {
    own_namespaces
    if [[ $("$sbox" --print true) == *'a fresh one cannot be mounted'* ]]; then
        echo "ok - $identity: see a neighbour # SKIP no fresh /proc can be mounted here; sbox --print says so"
    else
        wall 'see a neighbour' 'grep -q sleep /proc/$neighbour/comm'
    fi
    wall 'signal a neighbour' 'kill -0 $neighbour'
    wall 'read a neighbour' 'head -c 1 /proc/$neighbour/environ | wc -c | grep -q 1'
    where '"$attack" seize $neighbour' 'trace a neighbour' '"$attack" seize $neighbour'
    bash -c 'trap "echo survived" EXIT; "$0" bash -c "kill -9 0; sleep 5"; true' "$sbox" >"$aside/kill" 2>/dev/null
    is 'kill -9 0 ends the cage alone' survived "$(cat "$aside/kill")"
    check 'kill -9 -1 ends the cage alone' bash -c '"$0" bash -c "kill -9 -1; true"; kill -0 $neighbour' "$sbox"
    local pid inside seconds=$((300000 + RANDOM))
    "$sbox" sh -c "sleep $seconds & sleep $seconds" &
    pid=$!
    settles 2 "$seconds"
    inside=$(sleepers "$seconds")
    { kill -9 "$pid" && wait "$pid"; } 2>/dev/null
    settles 0 "$seconds"
    is 'dies with its parent' '2 0' "$inside $(sleepers "$seconds")"
    is 'no capability, no new privileges' '0000000000000000 0000000000000000 1' \
        "$("$sbox" awk '/CapEff|CapBnd|NoNewPrivs/{printf s $2; s=" "}' /proc/self/status)"
    is 'first to go when memory is short' 1000 "$("$sbox" cat /proc/self/oom_score_adj)"
}

# sleepers SECONDS: how many processes sleep that long. settles N SECONDS: waits
# for N of them.
sleepers() { pgrep -u "$uid" -fc "^sleep $1"; }
settles() {
    local tries=0
    until [ "$(sleepers "$2")" = "$1" ] || [ $tries -ge 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
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
    # The real thing: text that is typed into a terminal can be read from it.
    where 'script -qec "$attack type" /dev/null' 'type into a terminal' 'script -qec "$attack type" /dev/null'
    check 'call: a debugger can trace its own child' "$sbox" "$attack" ptrace-traceme
    where 'unshare -U true' 'nested user namespace' 'unshare -U true'
    check 'nested user namespace, allowed' "$sbox" --allow-userns unshare -U true
}

gitdirs() {
    wall 'write a hook' 'echo x >.git/hooks/pre-commit && rm .git/hooks/pre-commit'
    wall 'write the config' 'git config core.fsmonitor evil && git config --unset core.fsmonitor'
    wall 'rename .git' 'mv .git x && mv x .git'
    wall 'rename the project' 'mv ~/projects/p ~/projects/x && mv ~/projects/x ~/projects/p'
    wall 'write a sibling repository' 'echo x >~/projects/sibling/.git/hooks/pre-commit && rm ~/projects/sibling/.git/hooks/pre-commit'
    wall 'rename a sibling' 'mv ~/projects/sibling ~/projects/x && mv ~/projects/x ~/projects/sibling'
    wall 'plant commondir' 'echo /tmp >.git/commondir && rm .git/commondir'
    wall 'delete HEAD' 'mv .git/HEAD ~/projects/x && mv ~/projects/x .git/HEAD'
    "$sbox" git init -q "$HOME/projects" >"$aside/said" 2>&1
    is 'a repository above is set aside' '1 no' \
        "$(grep -c 'set aside' "$aside/said") $([ -e "$HOME/projects/.git" ] && echo yes || echo no)"
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
    local pid tries=0
    "$sbox" sh -c 'touch ready; sleep 300' &
    pid=$!
    until [ -e ready ] || [ $tries -ge 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    { kill -9 $pid && wait $pid; } 2>/dev/null
    rm -f ready
    local left
    left=$(ls -a | grep -c '^\.')
    (cd "$HOME/projects/sibling" && "$sbox" true)
    is 'placeholders of a killed cage are gone after the next call' "many 4" \
        "$([ "$left" -gt 10 ] && echo many || echo "$left") $(ls -a | grep -c '^\.')"
    tries=0
    "$sbox" sh -c 'touch ready; until [ -e second ]; do sleep 0.1; done; echo x >.envrc' 2>/dev/null &
    pid=$!
    until [ -e ready ] || [ $tries -ge 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    "$sbox" touch second
    wait $pid
    rm -f ready second
    is 'a second cage does not take the placeholders of the first' no "$([ -e .envrc ] && echo yes || echo no)"
    is 'git in the cage does not list placeholders' '' "$("$sbox" git status --short 2>&1 | grep -v -e 'vscode' -e 'env.sh' -e 'relative')"
}

# A command in one cage exchanges a directory for a link while another cage is
# being built: that one must not get what the link leads to, writable.
races() {
    mkdir -p "$HOME/projects/r/sub" && git init -q "$HOME/projects/r"
    python3 - "$HOME/projects" "$aside/swaps" <<'P' &
import os, sys
os.chdir(sys.argv[1])
n = 0
while True:
    try:
        os.rename("r", "r.real"); os.symlink("../work", "r"); os.unlink("r"); os.rename("r.real", "r")
        n += 1
        if n % 10 == 0: open(sys.argv[2], "a").write(".")
    except OSError:
        if not os.path.lexists("r"): os.rename("r.real", "r")
P
    local pid=$! i built=0
    for i in $(seq 15); do
        "$sbox" sh -c 'touch ~/projects/r/escaped; touch ~/work/escaped; true' 2>/dev/null && built=$((built + 1))
    done
    kill $pid
    wait $pid 2>/dev/null
    check "the directory was exchanged all the while ($built of 15 cages were built)" test -s "$aside/swaps"
    is 'a directory exchanged for a link' no "$([ -e "$HOME/work/escaped" ] && echo yes || echo no)"
}

start_as_both "$0" box
