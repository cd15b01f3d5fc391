#!/usr/bin/env bash
# No file of a project changes what the launcher does with it, whoever wrote it.
# shellcheck source-path=SCRIPTDIR source=contract.bash
. "$(dirname "$0")/contract.bash"

project=$(new_project)
# plan: what would be done, without the names that are made anew each time.
plan() {
    launch "$box" --engine none --dry-run=json -p hello
    ended 0 && jq 'del(.name, .labels, .warnings) | .hostname = ""' "$scratch/out" >"$scratch/$1"
}
settings=$(
    cat <<EOF
CLAUDE_BOX_EXEC=1
CLAUDE_BOX_DEBUG=1
CLAUDE_BOX_ENGINE_MODE=privileged-dind
CLAUDE_BOX_EXTRA_VARS=(SECRET_OF_THE_CALLER HOME)
CLAUDE_BOX_EXTRA_MOUNTS=/etc:/mnt
DOCKER_HOST=unix:///nowhere.sock
SSL_CERT_FILE=/nowhere.pem
AGENT_CAGE_LIBEXEC=$project
PATH=$project
X=\$(touch $scratch/ran)
EOF
)
hostile() {
    local name
    cd "$project" || return
    for name in .env .env.claude-box .env.codex-box .env.local .envrc .env.agent-cage .claude-box .claude-boxrc .cage .cagerc .agent-cage; do
        echo "$settings" >"$name"
    done
    for name in agent-cage.toml .agent-cage.toml cage.toml zone.toml gate.toml claude-box.toml; do
        printf 'engine = "privileged-dind"\nnetwork = "host"\nmounts = ["/etc:/mnt"]\n' >"$name"
    done
    mkdir -p .config/agent-cage .local/state/agent-cage/pins .docker libexec .devcontainer
    printf '[zone]\nwrite = ["/"]\n' | tee .config/agent-cage/zone.toml >.config/agent-cage/gate.toml
    echo '{"version":"99.0.0"}' >.local/state/agent-cage/pins/claude-box.pin.json
    echo '{"currentContext":"nowhere","proxies":{"default":{"httpProxy":"http://nowhere.invalid"}}}' | tee .docker/config.json >config.json
    printf 'FROM nowhere.invalid/none\nRUN exit 1\n' | tee Dockerfile >claude-box.Dockerfile
    echo '*' >.dockerignore
    echo '{"image":"nowhere.invalid/none","runArgs":["--privileged"]}' >.devcontainer/devcontainer.json
    printf 'services:\n  claude-box:\n    privileged: true\n' | tee docker-compose.yml >compose.yaml
    printf 'registry=http://nowhere.invalid\n' >.npmrc
    printf '#!/bin/sh\ntouch %s/ran\n' "$scratch" | tee docker git newuidmap cage-init libexec/cage-init sbox npm >/dev/null
    chmod +x docker git newuidmap cage-init libexec/cage-init sbox npm
}
same_plan() { diff "$scratch/before" "$scratch/after"; }
t "the plan of an empty project" plan before
t "a project full of files that other programs would follow" hostile
t "its plan is made" plan after
t "and is that of the empty one" same_plan
# With the project where a careless PATH has it.
runs() {
    PATH=$PATH:.: SECRET_OF_THE_CALLER=secret launch "$box" --engine none --exec env
    ended 0 && not grep -qE 'SECRET_OF_THE_CALLER|nowhere' "$scratch/out" && not test -e "$scratch/ran" && no_box
}
one_line() {
    is 1 "$(grep -c '^\[claude-box\] WARNING: .*\.env' "$scratch/err")" && grep -q 'WARNING: \.env\.claude-box of the project is not read' "$scratch/err"
}
t "a run takes nothing of it" runs
t "one line says that .env.claude-box is not read" one_line
untouched() { is "$settings" "$(cat "$project/.env.claude-box")"; }
t "it is as it was" untouched
link() {
    rm "$project/.env.claude-box" && ln -s "$1" "$project/.env.claude-box" && harness true && ended 0 && one_line
}
t "a dangling link of that name is told, too" link /nowhere
pipe() { rm "$project/.env.claude-box" && mkfifo "$project/.env.claude-box" && harness true && ended 0 && one_line; }
t "a pipe of that name is told, and not waited for" pipe
without() { rm "$project/.env.claude-box" && harness true && ended 0 && not grep -q WARNING "$scratch/err"; }
t "without it there is no such line" without
# Each box has a name of its own there.
of_codex() {
    touch "$project/.env.codex-box" && harness true && ended 0 && not grep -q WARNING "$scratch/err" &&
        launch "${box%/*}/codex-box" --engine none --exec true && ended 0 &&
        is 1 "$(grep -c '^\[codex-box\] WARNING: \.env\.codex-box of the project is not read' "$scratch/err")"
}
t ".env.codex-box is codex-box's" of_codex
finish
