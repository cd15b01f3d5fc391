#!/usr/bin/env bash
# Real Codex sessions in codex-box: headless, carried on by a second launch, and
# at a terminal. The model is scripted.
# shellcheck disable=SC2016 # the scripts in single quotes are the box's
# shellcheck source-path=SCRIPTDIR source=contract.bash
export TMPDIR=/var/tmp # the client is less at ease with a home below /tmp
. "$(dirname "$0")/contract.bash"

box=$root/bin/codex-box
project=$(new_project)
state=$HOME/.codex-box/state
scripts=$root/ci/scripted-api/scripts
file=hello-from-the-box.txt
key=sk-scripted-key-of-the-acceptance-tests
export OPENAI_API_KEY=$key
unset CODEX_API_KEY ANTHROPIC_API_KEY CODEX_BOX_EXEC CODEX_BOX_DEBUG CODEX_BOX_ENGINE_MODE CODEX_BOX_EXTRA_VARS CODEX_BOX_EXTRA_MOUNTS

# with SCRIPT COMMAND...: launches it beside the server, whose script has to be
# followed to its end. The address of the server is in $base.
with() {
    start_server "$1" || return
    base=$ANTHROPIC_BASE_URL/v1
    shift
    "$@"
    cat "$scratch/out" "$scratch/err"
    stop_server
}

# codex ARGUMENT...: launches the client with its own provider.
codex() { launch "$box" --network host -c "openai_base_url=\"$base\"" "$@" </dev/null; }

turns() { printf '{"turns": [%s]}' "$1" >"$scratch/turns.json"; }

main_job() { with "$scripts/codex-main-job.json" codex exec --skip-git-repo-check "Look at the system, then write $file." && is 0 "$status"; }
owned() { is "$(id -u):$(id -g) 644" "$(stat -c '%u:%g %a' "$project/$file")"; }
key_is_sent() { is 0 "$(jq -c 'select(.path == "/v1/responses" and .header.Authorization == null)' "$scratch/record.jsonl" | wc -l)"; }
key_is_not_kept() { test -d "$state/sessions" && not grep -rqF -- "$key" "$HOME/.codex-box"; }

resumed() {
    turns '{"expect": {"prompt": "And now?"}, "reply": [{"text": "As before."}]}'
    with "$scratch/turns.json" codex exec --skip-git-repo-check resume --last "And now?" && ended 0 &&
        is "As before." "$(cat "$scratch/out")" && grep -q "Look at the system, then write" "$scratch/record.jsonl"
}

# Which tools the client offers depends on the model.
direct_tools() {
    rm -f "$project/$file"
    with "$scripts/codex-direct-job.json" codex -m gpt-5.5 exec --skip-git-repo-check "Once more." && ended 0 && owned
}

confined() {
    local call='[ $(id -u) != 0 ] && echo user=ordinary; grep -E ^Cap[EPB] /proc/self/status | cut -f2 | sort -u; grep NoNewPrivs /proc/self/status; ls /var/run/docker.sock /run/docker.sock 2>&1 | grep -c No.such'
    turns "{\"reply\": [{\"call\": \"exec_command\", \"input\": {\"cmd\": \"$call\"}}]},
        {\"expect\": {\"result\": [\"user=ordinary\\n0000000000000000\\nNoNewPrivs:\\t1\\n2\"]}, \"reply\": [{\"text\": \"An ordinary user.\"}]}"
    with "$scratch/turns.json" codex --engine none -m gpt-5.5 exec --skip-git-repo-check "Who are you?" && ended 0
}

own_config() {
    turns '{"reply": [{"text": "By the provider of config.toml."}]}'
    start_server "$scratch/turns.json" || return
    cat >"$state/config.toml" <<-CONFIG
		model_provider = "scripted"
		[model_providers.scripted]
		name = "scripted"
		base_url = "$ANTHROPIC_BASE_URL/v1"
		wire_api = "responses"
		env_key = "OPENAI_API_KEY"
	CONFIG
    launch "$box" --network host exec --skip-git-repo-check "Hello." </dev/null
    rm "$state/config.toml"
    stop_server && ended 0 && is "By the provider of config.toml." "$(cat "$scratch/out")"
}

prompt_on_stdin() {
    turns '{"expect": {"prompt": "from a pipe"}, "reply": [{"text": "Read."}]}'
    start_server "$scratch/turns.json" || return
    status=0
    echo "from a pipe" | (cd "$project" && exec "$box" --network host -c "openai_base_url=\"$ANTHROPIC_BASE_URL/v1\"" exec --skip-git-repo-check -) \
        >"$scratch/out" 2>"$scratch/err" || status=$?
    stop_server && ended 0 && is Read. "$(cat "$scratch/out")"
}

refused_by_the_service() {
    turns '{"fault": {"status": 400, "message": "no such thing"}}'
    with "$scratch/turns.json" codex exec --skip-git-repo-check "Hello."
    ended 1 && is '' "$(cat "$scratch/out")"
}

statuses() {
    local n
    for n in 0 1 125 126 127 255; do
        harness sh -c "exit $n"
        ended $n || return
    done
    harness no-such-program
    faulted 127 harness-not-executable
}

# It paints only what has changed, so that texts come in pieces.
at_a_terminal() {
    rm -f "$project/$file"
    start_server "$scripts/codex-main-job.json" || return
    cat >"$scratch/keys" <<-'STEPS'
		wait Ask Codex to do anything
		never Sign in with|Do you trust|Update available
		wait state=idle
		send "Do the job."
		pause 2s
		send "\r"
		wait written.*Worked for
		send "\x03"
		pause 500ms
		send "\x03"
		end 0
		modes found
	STEPS
    status=0
    (cd "$project" && TERM=xterm-256color "$tools/ptytest" --size 40x120 --out "$scratch/screen" --script "$scratch/keys" -- \
        "$box" --network host -c "openai_base_url=\"$ANTHROPIC_BASE_URL/v1\"") || status=$?
    stop_server && is 0 "$status" && owned && not grep -qa fault= "$scratch/screen"
}

# Nothing that it would fetch at its start holds it up.
without_network() {
    cat >"$scratch/keys" <<-'STEPS'
		wait Ask Codex to do anything
		never Sign in with|Do you trust|Update available
		pause 1s
		send "\x03"
		end 0
		modes found
	STEPS
    (cd "$project" && TERM=xterm-256color "$tools/ptytest" --size 40x120 --script "$scratch/keys" -- "$box" --network none)
}

key_is_kept() {
    is "$key 600" "$(jq -r .OPENAI_API_KEY "$state/auth.json") $(stat -c %a "$state/auth.json")"
}

other_login_stays() {
    echo '{"auth_mode":"chatgpt","tokens":{"access_token":"x"}}' >"$state/auth.json"
    launch "$box" --dry-run=json </dev/null && not grep -q CODEX_API_KEY "$scratch/out"
    rm "$state/auth.json"
    launch "$box" --dry-run=json </dev/null && grep -q CODEX_API_KEY "$scratch/out" && not grep -qF -- "$key" "$scratch/out"
}

tools_in_the_box() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=agent-cage-test" -keyout /dev/null -out "$scratch/ca.pem" 2>/dev/null || return
    CAGE_CA_BUNDLE=$scratch/ca.pem harness sh -ec '
        git init -q repository && git -C repository status --short
        openssl verify -CAfile "$SSL_CERT_FILE" "$NODE_EXTRA_CA_CERTS"
        test "$SSL_CERT_FILE" = "$GIT_SSL_CAINFO"
        rg --version; codex --version; sbox true' </dev/null
    rm -rf "$project/repository"
    ended 0
}

user_session() {
    start_server "$scripts/codex-main-job.json" || return
    status=0
    (cd "$user_project" && as_user OPENAI_API_KEY=x "$user_box" --network host -c "openai_base_url=\"$ANTHROPIC_BASE_URL/v1\"" exec --skip-git-repo-check "Do it.") \
        </dev/null >"$scratch/out" 2>"$scratch/err" || status=$?
    stop_server && ended 0 && is "$(id -u "$user")" "$(stat -c %u "$user_project/$file")"
}

tool ptytest
t "the session runs to its end, with status 0" main_job
t "stdout has the closing text and nothing else" is "The job is done: the command ran and $file is written." "$(cat "$scratch/out")"
t "stderr has no fault line" not grep fault= "$scratch/err"
t "the file is in the project on the host" is "written by a scripted session" "$(cat "$project/$file" 2>&1)"
t "it belongs to the caller" owned
t "nothing else is in the project" is "$file" "$(ls -A "$project")"
t "OPENAI_API_KEY is the service's" key_is_sent
t "and is not kept" key_is_not_kept
t "a second launch carries the session on" resumed
t "a model that calls tools directly" direct_tools
t "the harness is not root and gains nothing" confined
t "a provider of the user's own config.toml" own_config
t "a prompt on stdin" prompt_on_stdin
t "an error of the service is the client's status" refused_by_the_service
t "statuses are the harness's, faults the launcher's" statuses
t "a session at a terminal, without a question before it" at_a_terminal
t "whose key is the login from then on" key_is_kept
t "a start at a terminal without a network" without_network
t "another login is left alone, and no plan has a key" other_login_stays
t "certificates, git, rg and the cage are there" tools_in_the_box
if [ "$(id -u)" = 0 ]; then
    t "an ordinary user is made" make_user
    t "a session of an ordinary user" user_session
else
    skip "an ordinary user" "only root can make one"
fi
t "no box is left" no_box
finish
