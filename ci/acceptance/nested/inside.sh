#!/bin/bash
# What a session does with its container engine. It runs in the box, in the
# project, and writes a line for each thing: "ok NAME" or "not ok NAME: WHY".
# $1 is the folder with what it needs: image.tar, a root file system.
set -uo pipefail
given=$1
image=nested-busybox
me=$(id -u):$(id -g)

check() {
    local name=$1 said status=0
    shift
    said=$("$@" 2>&1) || status=$?
    if [ $status = 0 ]; then echo "ok $name"; else echo "not ok $name: status $status: $(tail -n 4 <<<"$said" | tr '\n' ' ')"; fi
}

is() { [ "$1" = "$2" ] || { echo "want $1, got $2"; return 1; }; }

import() { docker import --change 'CMD ["sh"]' "$given/image.tar" $image; }

run() { is "hello 0" "$(docker run --rm $image sh -c 'echo hello $(id -u)')"; }

status() {
    docker run --rm $image sh -c 'exit 7'
    is 7 $?
}

build() {
    mkdir -p context && echo content >context/file
    printf 'FROM %s\nCOPY file /file\nRUN cat /file >/made && id -u >>/made\n' $image >context/Dockerfile
    docker build -q -t built context && is "content
0" "$(docker run --rm built cat /made)"
}

# Files that containers make as root are the session's, at the same path.
bind() {
    mkdir -p shared && echo from the session >shared/before
    docker run --rm -v "$PWD/shared:$PWD/shared" -w "$PWD/shared" $image sh -c 'cat before && echo from a container >after && mkdir dir' || return
    is "from a container" "$(cat shared/after)" && is "$me $me" "$(stat -c %u:%g shared/after shared/dir | tr '\n' ' ' | sed 's/ $//')"
}

copy() {
    local id
    id=$(docker create $image true) || return
    echo in >copied && docker cp copied "$id:/tmp/copied" && docker cp "$id:/tmp/copied" copied.back && cmp copied copied.back && is "$me" "$(stat -c %u:%g copied.back)"
    local good=$?
    docker rm "$id" >/dev/null
    return $good
}

volume() {
    docker volume create data >/dev/null && docker run --rm -v data:/data $image sh -c 'echo kept >/data/file' &&
        is kept "$(docker run --rm -v data:/data $image cat /data/file)" && docker volume rm data
}

load() {
    docker save built -o built.tar && docker rmi -f built >/dev/null && docker load -i built.tar && is content "$(docker run --rm built cat /file)"
}

compose_up() {
    mkdir -p www out && echo "served" >www/index.html
    cat >compose.yaml <<COMPOSE
services:
  web:
    image: $image
    command: httpd -f -p 8080 -h /www
    volumes: ["./www:/www:ro"]
    ports: ["127.0.0.1:18080:8080"]
    networks: [inner]
    healthcheck:
      test: wget -q -O /dev/null http://127.0.0.1:8080/index.html
      interval: 1s
      retries: 20
  client:
    image: $image
    command: sh -c 'wget -q -O /out/seen http://web:8080/index.html'
    volumes: ["$PWD/out:/out"]
    networks: [inner]
    depends_on: {web: {condition: service_healthy}}
networks:
  inner: {}
COMPOSE
    docker compose -p nested up -d && docker wait nested-client-1 && is served "$(cat out/seen)"
}

published() { is served "$(curl -sS --noproxy '*' --max-time 10 http://localhost:18080/index.html)"; }

compose_down() { docker compose -p nested down -t 1 && is '' "$(docker ps -q)"; }

# Names of containers are answered on their network.
names() {
    docker network create names >/dev/null && docker run -d --rm --name answer --network names $image sleep 60 >/dev/null &&
        docker run --rm --network names $image ping -c 1 -W 5 answer
    local good=$?
    docker rm -f answer >/dev/null
    docker network rm names >/dev/null
    return $good
}

# A name of the world is answered in a container if it is in the box.
outside() {
    local name=${NAME_OUTSIDE:-deb.debian.org} address
    address=$(getent ahostsv4 "$name" | awk '{print $1; exit}')
    [ -n "$address" ] || { echo "the box itself does not resolve $name"; return 1; }
    docker run --rm $image nslookup "$name" | grep -qF "$address"
}

# What a client finds that is told nothing, as test libraries are.
native() { env -u DOCKER_HOST docker version && [ -S /var/run/docker.sock ]; }

# A container that drives the engine through the socket, as test libraries do,
# with the box's own client.
socket_inside() {
    docker run --rm -v /var/run/docker.sock:/var/run/docker.sock -v /usr:/usr:ro $image /bin/busybox sh -c \
        '/bin/ln -s usr/lib /lib; /bin/ln -s usr/lib64 /lib64; /usr/bin/docker -H unix:///var/run/docker.sock ps' | grep -q $image
}

detached() {
    docker run -d --name detached --health-cmd true --health-interval 1s $image sleep 60 >/dev/null || return
    docker exec detached sh -c 'echo executed' | grep -q executed && docker stop -t 1 detached && docker logs detached && docker rm detached
}

check "import of a root file system" import
check "run, as root of the container" run
check "the status of a container" status
check "build" build
check "bind mount of the project by the same path, owned by the session" bind
check "cp, both ways" copy
check "volumes" volume
check "save and load of an image" load
check "exec, stop and logs of one in the background" detached
check "compose up with a network and a health check" compose_up
check "a published port at localhost" published
check "compose down" compose_down
check "names of containers on their network" names
check "names of the world" outside
check "the engine where programs look that are told nothing" native
check "the socket in a container" socket_inside
