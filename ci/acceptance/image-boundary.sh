#!/usr/bin/env bash
# What is in the images and what is not.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# inside IMAGE SCRIPT: as root in a plain container, past the entry point.
inside() { docker run --rm --network none --entrypoint sh "$1" -c "$2"; }

# no_output COMMAND...: succeeds without a word.
no_output() {
    local output
    output=$("$@") && is '' "$output"
}

# What a harness would be called, wherever it lies.
harness_in() {
    inside "$1" 'find / -xdev \( -iname "*claude*" -o -iname "*codex*" -o -path "*/@anthropic-ai/*" -o -path "*/@openai/*" \) -not -path "/proc/*"'
}

base_has_no_harness() {
    no_output harness_in cage-base && inside cage-base '! command -v claude && ! command -v codex'
}

no_privileged_modes() { no_output inside "$1" 'find / -xdev -type f -perm /6000'; }

answers() {
    # One container for all: the loop is the container's, the list its stdin.
    docker run --rm -i --network none --entrypoint sh cage-base -c 'status=0
        while read -r tool command; do last=$tool
            out=$(sh -c "$command" 2>&1 </dev/null) || { echo "$tool does not answer: $out"; status=1; }
        done
        [ "$last" = last ] && exit $status' <<-'TOOLS'
		dockerd dockerd --version
		docker docker --version
		compose docker compose version
		buildx docker buildx version
		containerd containerd --version
		runc runc --version
		rootlesskit rootlesskit --version
		dockerd-rootless.sh grep -q rootlesskit "$(command -v dockerd-rootless.sh)"
		slirp4netns slirp4netns --version
		newuidmap command -v newuidmap newgidmap
		fuse-overlayfs fuse-overlayfs --version
		iptables iptables --version
		ip ip -V
		git git --version
		gh gh --version
		curl curl --version
		jq jq --version
		rg rg --version
		fd fd --version
		ssh ssh -V
		python3 python3 --version
		pip pip --version
		venv python3 -m venv /tmp/venv && /tmp/venv/bin/python -m pip --version
		node node --version
		npm npm --version
		make make --version
		patch patch --version
		less less --version
		ps ps --version
		socat socat -V
		terminfo infocmp xterm-256color && infocmp tmux-256color && infocmp alacritty
		bwrap bwrap --version
		certificates test -s /etc/ssl/certs/ca-certificates.crt
		locale locale charmap | grep -qx UTF-8
		cage-init test -x /usr/local/libexec/agent-cage/cage-init
		sbox test -x /usr/local/bin/sbox
		cage-gate test -x /usr/local/bin/cage-gate
		last true
	TOOLS
}

file_capabilities() {
    is "/usr/bin/newuidmap cap_setuid=ep
/usr/bin/newgidmap cap_setgid=ep" "$(inside cage-base 'getcap /usr/bin/newuidmap /usr/bin/newgidmap')"
}

# An upgrade of such a package in a derived image must not bring the mode back.
modes_are_recorded() {
    inside cage-base 'dpkg-statoverride --list /usr/bin/su && dpkg-statoverride --list /usr/bin/newuidmap'
}

entry_point() {
    is '["/usr/local/libexec/agent-cage/cage-init"] null ' "$(docker image inspect --format '{{json .Config.Entrypoint}} {{json .Config.Cmd}} {{.Config.User}}' "$1" | sed 's/\[\]/null/')"
}

in_box_binaries_are_static() {
    inside cage-base 'for f in /usr/local/libexec/agent-cage/cage-init /usr/local/bin/sbox /usr/local/bin/cage-gate; do
        ldd "$f" 2>&1 | grep -q "not a dynamic executable" || { echo "$f is not static"; exit 1; }; done'
}

# only IMAGE FILE...: those are all that the image has of the harness.
only() {
    local image=$1
    shift
    is "$(printf '%s\n' "$@" | sort)" "$(harness_in "$image" | sort)"
}

# pinned_version IMAGE FORMAT: the harness calls itself what the pin says.
pinned_version() {
    local pinned name=${1%-box}
    pinned=$(sed -n 's/^ *"version": "\(.*\)",*$/\1/p' "$root/images/$name/pin.json")
    # shellcheck disable=SC2059 # the format is the caller's
    is "$(printf "$2" "$pinned")" "$(inside "$1" "$name --version")"
}

# layer_is_the_binary IMAGE BINARY...
layer_is_the_binary() {
    local image=$1 binaries layer
    shift
    binaries=$(inside "$image" "stat -c %s $*" | awk '{ sum += $1 } END { print sum }')
    layer=$(layer_size "$image" cage-base)
    echo "the binaries have $binaries bytes, the image adds $layer"
    [ "$layer" -ge "$binaries" ] && [ $((layer * 10)) -le $((binaries * 11)) ]
}

no_auto_update() { is 1 "$(inside claude-box 'echo "$DISABLE_AUTOUPDATER"')"; }

id_of() { docker image inspect --format '{{.Id}}' "$1"; }

left_alone() {
    local before
    before=$(id_of claude-box) && in_box "$project" true && is "$before" "$(id_of claude-box)"
}

labelled() {
    local image label
    for image in cage-base claude-box codex-box; do
        is build "$(docker image inspect --format '{{index .Config.Labels "dev.agent-cage.kind"}}' $image)" || return
        for label in inputs arch; do
            [ -n "$(docker image inspect --format "{{index .Config.Labels \"dev.agent-cage.$label\"}}" $image)" ] || {
                echo "$image has no label dev.agent-cage.$label"
                return 1
            }
        done
    done
}

project=$(new_project)
made() { in_box "$project" true && box=$root/bin/codex-box in_box "$project" true; }
t "the launchers make the images" made
t "up to date, they are left as they are" left_alone
t "the base has no harness" base_has_no_harness
t "each tool in the base answers" answers
t "no setuid or setgid file in the base" no_privileged_modes cage-base
t "no setuid or setgid file with Claude Code" no_privileged_modes claude-box
t "nor with Codex" no_privileged_modes codex-box
t "that check sees one" not inside cage-base 'chmod u+s /usr/bin/su && ! find / -xdev -type f -perm /6000 | grep -q .'
t "newuidmap and newgidmap have one file capability each" file_capabilities
t "the modes are recorded for upgrades" modes_are_recorded
t "the base starts cage-init" entry_point cage-base
t "claude-box starts cage-init" entry_point claude-box
t "codex-box starts cage-init" entry_point codex-box
t "the in-box binaries are static" in_box_binaries_are_static
t "claude-box has exactly one file of the harness" only claude-box /usr/local/bin/claude
t "it is the pinned version" pinned_version claude-box "%s (Claude Code)"
t "the layer is at most 1.1 times the binary" layer_is_the_binary claude-box /usr/local/bin/claude
codex=(/usr/local/bin/codex /usr/local/bin/codex-code-mode-host)
t "codex-box has Codex, the host of the programs it writes, and the directory of its defaults" only codex-box "${codex[@]}" /etc/codex
t "it is the pinned version" pinned_version codex-box "codex-cli %s"
t "the layer is at most 1.1 times the binaries" layer_is_the_binary codex-box "${codex[@]}"
t "auto-update is off" no_auto_update
t "the images are labelled" labelled
finish
