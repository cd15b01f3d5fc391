#!/usr/bin/env bash
# The host's CA bundle and its proxy variables reach the build and are in no
# layer, history or configuration of an image.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

marker=agent-cage-private-authority-$$
proxy_marker=agent-cage-proxy-$$.invalid

# The host's own bundle, and an authority that exists nowhere else.
make_bundle() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$marker" \
        -keyout /dev/null -out "$scratch/marker.pem" 2>/dev/null || return
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
t "the usual binaries bring the usual images back" in_box "$project" true
finish
