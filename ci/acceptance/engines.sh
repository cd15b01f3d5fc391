#!/usr/bin/env bash
# How an engine is found and reached: a socket, TCP with TLS, ssh, a context; and
# one that does not see the project. The engine is one of this script's own, in a
# network and a mount namespace of its own, with real TLS and a real sshd.
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

missing=
[ "$(id -u)" = 0 ] || missing="only root can start an engine"
for program in dockerd openssl nsenter; do
    command -v "$program" >/dev/null || missing="there is no $program"
done
if [ -n "$missing" ]; then
    skip "endpoints" "$missing"
    finish
    exit
fi

engine_dir=$scratch/engine certs=$scratch/certs hidden=$scratch/hidden
own_socket=unix://$engine_dir/docker.sock
mkdir -p "$engine_dir" "$certs" "$hidden" "$scratch/bin"

# certificate NAME EXTENSION: signed by the test's own authority.
certificate() {
    openssl req -newkey rsa:2048 -nodes -keyout "$certs/$1-key.pem" -subj "/CN=$1" -out "$certs/$1.csr" &&
        openssl x509 -req -days 2 -in "$certs/$1.csr" -CA "$certs/ca.pem" -CAkey "$certs/ca-key.pem" -CAcreateserial \
            -extfile <(echo "$2") -out "$certs/$1-cert.pem"
}

certificates() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout "$certs/ca-key.pem" -out "$certs/ca.pem" &&
        certificate server 'subjectAltName=IP:127.0.0.1' && certificate client 'extendedKeyUsage=clientAuth' || return
    mkdir -p "$certs/client" && cp "$certs/ca.pem" "$certs/client/ca.pem" &&
        cp "$certs/client-cert.pem" "$certs/client/cert.pem" && cp "$certs/client-key.pem" "$certs/client/key.pem"
}

stop_engine() {
    [ ! -s "$engine_dir/sshd.pid" ] || kill "$(cat "$engine_dir/sshd.pid")"
    [ ! -s "$engine_dir/dockerd.pid" ] || kill "$(cat "$engine_dir/dockerd.pid")"
    local tries=0
    while pgrep -f "$engine_dir" >/dev/null && [ $tries -lt 60 ]; do
        tries=$((tries + 1))
        sleep 0.25
    done
}
at_exit stop_engine

start_engine() {
    # The engine sees another directory where the project of a later check is.
    # shellcheck disable=SC2016 # the arguments are the inner shell's
    setsid --fork unshare --net --mount sh -c '
        ip link set lo up && mount -t tmpfs tmpfs "$1" && mkdir "$1/other" && shift && exec dockerd "$@"' sh "$hidden" \
        -H "$own_socket" -H tcp://127.0.0.1:2376 --tlsverify --tlscacert "$certs/ca.pem" --tlscert "$certs/server-cert.pem" \
        --tlskey "$certs/server-key.pem" --data-root "$engine_dir/data" --exec-root "$engine_dir/exec" \
        --pidfile "$engine_dir/dockerd.pid" --bridge none --iptables=false >"$scratch/engine.log" 2>&1 </dev/null
    local tries=0
    until DOCKER_HOST=$own_socket docker version; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || { tail -n 20 "$scratch/engine.log"; return 1; }
        sleep 0.3
    done
    # Nothing can be fetched from there, and nothing is there yet.
    project=$(new_project)
    DOCKER_HOST=$own_socket launch "$tools/toy-box" --engine none --exec true
    faulted 125 image-missing "debian:trixie-slim" || return
    (cd "$project" && exec "$tools/toy-box" --engine none --exec true) || return
    docker save cage-base agent-cage-toy | DOCKER_HOST=$own_socket docker load
}

# beside COMMAND...: where the engine's loopback is, without anything of the
# caller's that names an engine.
beside() {
    nsenter --net --target "$(cat "$engine_dir/dockerd.pid")" env -u DOCKER_HOST -u DOCKER_CONTEXT DOCKER_CONFIG="$scratch/docker" \
        PATH="$scratch/bin:$PATH" "$@"
}

# took [NAME=VALUE...]: a box reads its input, writes to the project and ends with
# its own status.
took() {
    project=$(new_project)
    status=0
    (cd "$project" && printf in | beside env "$@" "$tools/toy-box" --engine none --network none --exec sh -c 'cat >file; echo out; exit 7') \
        >"$scratch/out" 2>"$scratch/err" || status=$?
    cat "$scratch/err"
    is 7 "$status" && is out "$(cat "$scratch/out")" && is in "$(cat "$project/file")"
}

# refuses TEXT [NAME=VALUE...]: 126 with that text.
refuses() {
    local text=$1
    shift
    project=$(new_project)
    status=0
    (cd "$project" && beside env "$@" "$tools/toy-box" --engine none --network none --exec true) >"$scratch/out" 2>"$scratch/err" || status=$?
    faulted 126 engine-start-failed "$text"
}

ssh_server() {
    mkdir -p /run/sshd
    ssh-keygen -q -t ed25519 -N '' -f "$scratch/host_key" && ssh-keygen -q -t ed25519 -N '' -f "$scratch/key" || return
    cat >"$scratch/sshd_config" <<-CONFIG
		Port 2222
		ListenAddress 127.0.0.1
		HostKey $scratch/host_key
		AuthorizedKeysFile $scratch/key.pub
		PidFile $engine_dir/sshd.pid
		PermitRootLogin yes
		StrictModes no
		UsePAM no
		SetEnv DOCKER_HOST=$own_socket
	CONFIG
    # The client reads the home of the user database, and nothing of that is a test's.
    printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$scratch/ssh_config" >"$scratch/bin/ssh"
    chmod +x "$scratch/bin/ssh"
    printf 'IdentityFile %s\nIdentitiesOnly yes\nUserKnownHostsFile %s\nBatchMode yes\n' "$scratch/key" "$scratch/known_hosts" >"$scratch/ssh_config"
    echo "[127.0.0.1]:2222 $(cut -d' ' -f1,2 "$scratch/host_key.pub")" >"$scratch/known_hosts"
    beside "$sshd" -f "$scratch/sshd_config" -E "$scratch/sshd.log"
}

current_context() { DOCKER_CONFIG=$scratch/docker docker context use tls && took X=1; }

contexts() {
    DOCKER_CONFIG=$scratch/docker docker context create tls \
        --docker "host=tcp://127.0.0.1:2376,ca=$certs/ca.pem,cert=$certs/client-cert.pem,key=$certs/client-key.pem" &&
        DOCKER_CONFIG=$scratch/docker docker context create gone --docker host=unix:///nonexistent/docker.sock
}

# hidden_refused DIRECTORY: a project that the engine does not see, or sees
# another of, ends the run before the harness, and nothing is made for it.
hidden_refused() {
    project=$hidden/$1
    mkdir -p "$project" && echo mine >"$project/mine"
    launch "$tools/toy-box" --engine none --network none --exec sh -c 'echo ran; ls'
    faulted 126 engine-start-failed "share" && is '' "$(nsenter --mount --target "$(cat "$engine_dir/dockerd.pid")" find "$hidden" -mindepth 1 ! -path "$hidden/other")"
}

# A copy of everything on the engine's side, with the same times, is no sharing.
copy_refused() {
    local HOME=$hidden/home
    project=$hidden/copied
    mkdir -p "$HOME" "$project" && echo mine >"$project/mine" && launch "$tools/toy-box" --engine none --network none --exec true
    not ended 0 && tar -C "$hidden" --format=posix -c home copied | nsenter --mount --target "$(cat "$engine_dir/dockerd.pid")" tar -C "$hidden" -x || return
    launch "$tools/toy-box" --engine none --network none --exec sh -c 'echo ran; touch made'
    faulted 126 engine-start-failed "$hidden/home/.toy-box/state is not this machine's" && is '' "$(nsenter --mount --target "$(cat "$engine_dir/dockerd.pid")" find "$hidden" -name made)"
}

tls=("DOCKER_HOST=tcp://127.0.0.1:2376" "DOCKER_TLS_VERIFY=1" "DOCKER_CERT_PATH=$certs/client")

t "the launcher is built" tool toy-box
t "certificates are made" certificates
t "an engine runs, at first without any image" start_engine
t "DOCKER_HOST, a socket" took "DOCKER_HOST=$own_socket"
t "DOCKER_HOST, TCP with TLS" took "${tls[@]}"
t "DOCKER_HOST, TCP with TLS, no certificate of the client's" refuses "" "DOCKER_HOST=tcp://127.0.0.1:2376" DOCKER_TLS=1 "DOCKER_CERT_PATH=$scratch/nothing"
t "DOCKER_HOST, TCP with TLS, an authority of another" refuses "" "DOCKER_HOST=tcp://127.0.0.1:2376" DOCKER_TLS_VERIFY=1 "DOCKER_CERT_PATH=$scratch/nothing"
t "contexts are made" contexts
t "DOCKER_CONTEXT, TCP with TLS" took DOCKER_CONTEXT=tls
t "DOCKER_CONTEXT, nothing listens" refuses /nonexistent/docker.sock DOCKER_CONTEXT=gone
t "DOCKER_CONTEXT, unknown" refuses nowhere DOCKER_CONTEXT=nowhere
t "DOCKER_HOST goes before DOCKER_CONTEXT" took DOCKER_CONTEXT=gone "DOCKER_HOST=$own_socket"
t "the current context" current_context
t "DOCKER_CONTEXT goes before the current context" refuses /nonexistent/docker.sock DOCKER_CONTEXT=gone
if sshd=$(command -v sshd); then
    t "a real sshd runs" ssh_server
    t "DOCKER_HOST, ssh" took DOCKER_HOST=ssh://root@127.0.0.1:2222
    t "DOCKER_HOST, ssh, a host that is not known" refuses "" DOCKER_HOST=ssh://root@127.0.0.2:2222
else
    skip "DOCKER_HOST, ssh" "there is no sshd"
fi
export DOCKER_HOST=$own_socket
t "a project that the engine does not see" hidden_refused unseen
t "a project of which the engine sees another" hidden_refused other
t "an engine that has a copy of the project and of the home directory" copy_refused
finish
