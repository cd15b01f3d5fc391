#!/usr/bin/env bash
# The host's CA bundle and its proxy variables reach the build and the box, with
# every program of it, and are in no layer, history or configuration of an image.
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

marker=agent-cage-private-authority-$$
proxy_marker=agent-cage-proxy-$$.invalid

# The host's own bundle, and an authority that exists nowhere else.
make_bundle() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$marker" -addext keyUsage=critical,keyCertSign,cRLSign \
        -keyout "$scratch/marker.key" -out "$scratch/marker.pem" 2>/dev/null || return
    cat "${CAGE_CA_BUNDLE:-${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}}" "$scratch/marker.pem" >"$scratch/bundle.pem"
}

# Other in-box binaries make the builder run the harness's step again, with this
# bundle; bytes after the end of a program change nothing in it.
fresh_build() {
    mkdir "$scratch/libexec" && cp "$root"/libexec/{cage-init,sbox,cage-gate} "$scratch/libexec/" || return
    printf '%s' "$$.$(date +%s)" >>"$scratch/libexec/cage-init"
    before=$(docker image inspect --format '{{.Id}}' claude-box 2>/dev/null)
    AGENT_CAGE_LIBEXEC=$scratch/libexec CAGE_CA_BUNDLE=$scratch/bundle.pem no_proxy=$proxy_marker \
        in_box "$project" true || return
    not is "$before" "$(docker image inspect --format '{{.Id}}' claude-box)"
}

# What gives the bundle away: lines of the authority's own PEM, its name where a
# certificate was decoded, the proxy variable, and the authorities that only the
# host has. Public ones do not count: programs bring those along.
write_patterns() {
    docker run --rm --network none --entrypoint cat cage-base /etc/ssl/certs/ca-certificates.crt >"$scratch/public.pem" || return
    find /usr/share/ca-certificates -name '*.crt' -exec cat {} + >>"$scratch/public.pem" 2>/dev/null
    {
        sed -n '5p;9p' "$scratch/marker.pem"
        printf '%s\n' "$marker" "$proxy_marker"
        # The last full line of a certificate is in its signature: never shared.
        awk 'length($0) == 64 { full = $0 } /END CERT/ { print full }' "$scratch/bundle.pem" |
            grep -vxFf <(awk 'length($0) == 64' "$scratch/public.pem")
    } >"$scratch/patterns"
    echo "$(wc -l <"$scratch/patterns") patterns"
}

# unpack IMAGE: every file of the image's archive, layers decompressed.
unpack() {
    rm -rf "$scratch/image" && mkdir "$scratch/image" && docker save "$1" | tar -x -C "$scratch/image" || return
    find "$scratch/image" -type f | while read -r file; do
        if [ "$(od -An -tx1 -N2 "$file" | tr -d ' ')" = 1f8b ]; then gzip -dc "$file"; else cat "$file"; fi
    done
}

# mentions IMAGE PATTERNS: a line of PATTERNS is somewhere in the image.
mentions() {
    local lines
    # Counted to the end: a search that stops early breaks the pipe.
    lines=$(unpack "$1" | LC_ALL=C grep -a -c -F -f "$2")
    echo "$1: $lines lines"
    [ "$lines" != 0 ]
}

# The commit has the bundle in it: what the search must be able to find.
control() {
    local container
    container=$(docker create --entrypoint true debian:trixie-slim) || return
    at_exit docker rm -f "$container"
    docker cp "$scratch/bundle.pem" "$container:/bundle.pem" &&
        docker commit "$container" "agent-cage-control:$$" && at_exit docker rmi -f "agent-cage-control:$$" &&
        mentions "agent-cage-control:$$" "$scratch/patterns"
}

in_configuration() {
    { docker history --no-trunc "$1" && docker image inspect "$1"; } | grep -F -e "$marker" -e "$proxy_marker" -e "$scratch"
}

reaches_the_box() {
    # shellcheck disable=SC2016 # the box's variable
    AGENT_CAGE_LIBEXEC=$scratch/libexec CAGE_CA_BUNDLE=$scratch/bundle.pem in_box "$project" sh -c 'cat "$SSL_CERT_FILE"' |
        grep -qF -f <(sed -n 5p "$scratch/marker.pem")
}

project=$(new_project)
t "a bundle with an authority of its own" make_bundle
t "the launcher builds with it" fresh_build
t "what would give it away is known" write_patterns
t "the search finds a bundle that is in a layer" control
t "no layer of claude-box or its base has the bundle or the proxy" not mentions claude-box "$scratch/patterns"
for image in cage-base claude-box; do
    t "nor has the configuration of $image" not in_configuration $image
done
t "the bundle reaches the box" reaches_the_box

## Every program in the box.
# A server that this authority vouches for, in the network of the host.
port=$((20000 + $$ % 20000))
serve() {
    local www=$scratch/www
    mkdir -p "$www" && git init -q --bare "$www/repository" && git -C "$www/repository" update-server-info &&
        openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout "$www/server.key" -out "$scratch/server.csr" 2>/dev/null &&
        openssl x509 -req -days 2 -in "$scratch/server.csr" -CA "$scratch/marker.pem" -CAkey "$scratch/marker.key" -CAcreateserial \
            -extfile <(printf 'subjectAltName=DNS:localhost\nauthorityKeyIdentifier=keyid\n') -out "$www/server.pem" 2>/dev/null || return
    cat >"$www/serve.py" <<'EOF'
import http.server, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/www/server.pem", "/www/server.key")
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
EOF
    docker run -d --name "agent-cage-tls-$$" --network host -v "$www:/www" -w /www --entrypoint python3 cage-base serve.py "$port" &&
        at_exit docker rm -f "agent-cage-tls-$$" && until_listens
}
until_listens() {
    local tries=0
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || return
        sleep 0.1
    done
}
clients() {
    cat >"$project/clients" <<EOF
#!/bin/bash
url=https://localhost:$port
try() { local name=\$1; shift; "\$@" >/dev/null 2>&1 </dev/null && echo "\$name trusts it"; }
try openssl openssl s_client -verify_return_error -verify_hostname localhost -connect localhost:$port
try curl curl -fsS \$url/serve.py
try git git ls-remote \$url/repository
try node node -e "require('https').get('\$url/', r => process.exit(0)).on('error', () => process.exit(1))"
try python python3 -c "import urllib.request; urllib.request.urlopen('\$url/')"
# Without what the session is given of variables, as sudo and cron start programs.
try bare-openssl env -i "PATH=\$PATH" openssl s_client -verify_return_error -verify_hostname localhost -connect localhost:$port
try bare-curl env -i "PATH=\$PATH" curl -fsS \$url/serve.py
try bare-git env -i "PATH=\$PATH" git ls-remote \$url/repository
try bare-python env -i "PATH=\$PATH" python3 -c "import urllib.request; urllib.request.urlopen('\$url/')"
exit 0
EOF
    chmod +x "$project/clients"
}
# trust_with VARIABLE FILE: runs the clients in a box whose launcher has that
# variable and no other of the kind.
trust_with() {
    launch env -u CAGE_CA_BUNDLE -u SSL_CERT_FILE -u NODE_EXTRA_CA_CERTS "$1=$2" AGENT_CAGE_LIBEXEC="$scratch/libexec" \
        "$box" --engine none --network host --exec ./clients
    ended 0
}
trusted() {
    trust_with "$1" "$scratch/marker.pem" && is "$(printf '%s trusts it\n' openssl curl git node python bare-openssl bare-curl bare-git bare-python)" "$(cat "$scratch/out")"
}
untrusted() {
    awk '/BEGIN CERT/ { n++ } n == 1' /etc/ssl/certs/ca-certificates.crt >"$scratch/other.pem"
    trust_with CAGE_CA_BUNDLE "$scratch/other.pem" && is '' "$(cat "$scratch/out")"
}
t "a server that only this authority vouches for" eval 'serve && clients'
t "no program trusts it unasked" untrusted
for variable in CAGE_CA_BUNDLE SSL_CERT_FILE NODE_EXTRA_CA_CERTS; do
    t "$variable: openssl, curl, git, Node and Python trust it" trusted $variable
done
unusable() {
    launch env "$1=$2" "$box" --engine none --exec true
    faulted 1 usage "$1" && no_box
}
for variable in CAGE_CA_BUNDLE SSL_CERT_FILE NODE_EXTRA_CA_CERTS; do
    t "$variable names no file" unusable $variable "$scratch/none.pem"
    t "$variable names no certificate" unusable $variable "$scratch/marker.key"
done

## Proxies.
proxies=(http_proxy https_proxy no_proxy all_proxy ftp_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY FTP_PROXY)
with_proxies() {
    local name set=()
    for name in "${proxies[@]}"; do set+=("$name=http://$name.$proxy_marker"); done
    AGENT_CAGE_LIBEXEC=$scratch/libexec launch env "${set[@]}" "$box" --engine none --dockerfile "$scratch/proxies/Dockerfile" --exec "$@"
}
build_has_proxies() {
    local name
    mkdir "$scratch/proxies" && {
        echo FROM claude-box
        # A builder gives both spellings one value: that of the lower case. Those
        # of engines before 23.0 know no all_proxy. The commands, which an image
        # keeps, have the value's hash only.
        for name in "${proxies[@]}"; do [ "${name,,}" = all_proxy ] || echo "RUN echo \"\$$name\" | sha256sum | grep -q ^$(echo "http://${name,,}.$proxy_marker" | sha256sum | cut -c1-64)"; done
    } >"$scratch/proxies/Dockerfile" && with_proxies true && ended 0 && proxied=$(built_image) || return
    at_exit docker rmi "$proxied"
}
box_has_proxies() {
    local name
    with_proxies env && ended 0 || return
    for name in "${proxies[@]}"; do grep -qx "$name=http://$name.$proxy_marker" "$scratch/out" || return; done
}
not_kept() { not in_configuration "$proxied" && not mentions "$proxied" <(echo "$proxy_marker"); }
t "the proxy variables reach the build" build_has_proxies
t "and the box" box_has_proxies
t "and are not kept in the image" not_kept
t "the usual binaries bring the usual images back" in_box "$project" true
finish
