// Package scriptedapi is a server for tests that answers from a script where
// real clients expect a model.
//
// It speaks the Anthropic Messages API and the OpenAI Responses API, streaming
// and not, well enough for Claude Code 2.1.332 and Codex 0.171.0 to run
// unchanged. What the model says and which tools it calls is in the script, so
// a test decides what the client does; what the client sends is in the record,
// so a test sees what the model would have seen.
//
// # In a Go test
//
//	script, err := scriptedapi.LoadFile("testdata/script.json", map[string]string{"marker": marker})
//	server := scriptedapi.New(script)
//	ts := httptest.NewServer(server.Handler())
//	// run the client with ts.URL
//	err = server.Err()           // nil if all went as the script says
//	requests := server.Requests() // what the client sent
//
// # From a shell
//
//	scripted-api --port-file F --script FILE --var marker=x --record R &
//	# wait for F, run the client, then
//	kill $! && wait $!           # 0 if all went as the script says, else 1
//
// # Scripts
//
// A script is a list of turns: each is the answer to one request of the main
// conversation.
//
//	{"turns": [
//	  {"reply": [{"text": "Let me look."},
//	             {"call": "Bash", "input": {"command": "ls {{cwd}}", "description": "List files"}}]},
//	  {"expect": {"result": "README.md"},
//	   "reply": [{"call": "Write", "input": {"file_path": "{{cwd}}/a.txt", "content": "x\n"}}]},
//	  {"expect": {"result": "a.txt", "error": false},
//	   "reply": [{"text": "Done."}]}]}
//
// Several calls in one reply run in parallel or in the client's order. The
// conversation goes on until a reply has no call; then the client ends or
// waits for its user.
//
// A script with several conversations names them. The first whose match holds
// is taken, so the general one comes last. Each client conversation has its
// own place in the turns: ten clients may share one script at the same time.
// A subagent is a conversation of its own; its first prompt is what its parent
// gave it.
//
//	{"conversations": [
//	  {"name": "sub",  "match": {"prompt": "SUBTASK"}, "turns": [...]},
//	  {"name": "main", "match": {"api": "messages", "tools": "Bash"}, "turns": [...]},
//	  {"name": "rest", "optional": true, "turns": [...]}]}
//
// The fields are those of Script, Conversation, Match, Turn, Expect, Item,
// Usage and Fault. Where a list of strings is wanted, one string will do.
// Durations are written as in Go.
//
// In texts, inputs and expectations {{name}} stands for a value: of --var, of
// an earlier turn's capture, or, as {{cwd}}, the directory that the client
// says it works in. Docker's {{.Field}} is left alone.
//
//	{"expect": {"capture": {"session": "session ID (\\d+)"}},
//	 "reply": [{"call": "write_stdin", "input": {"session_id": "{{session}}", "chars": "y\n"}}]}
//
// A captured value is always put in as a string. A client that insists on a
// number will say so in its result.
//
// Faults: {"fault": {"status": 529}, "times": 2} is two refused requests,
// {"fault": {"cut": "before"}} a connection that breaks at once. A stream that
// breaks after some text, or ends in an error event, is
// {"reply": [{"text": "half"}], "fault": {"cut": "stream"}} and
// {"reply": [{"text": "half"}], "fault": {"event": true}}. "wait" and "pace"
// make any turn slow. The turn after a fault answers the client's retry.
//
// # Mismatches
//
// A request that is not as its turn expects, that comes after the last turn,
// that fits no conversation, or that does not offer a tool which its turn
// calls, is a mismatch. The client gets status 400 with the reason in the
// message, and so does every later request of that conversation; Err reports
// it once. Err also reports a conversation that no client began or had to its
// end, unless it is optional. A client that sends an answered request again
// gets the same turn again, which is no mismatch.
//
// # Auxiliary requests
//
// Clients also ask the model for titles and the like. These requests take no
// turn; they are answered with Script.Auxiliary, put into the JSON that they
// ask for if they ask for some. A request is auxiliary if it offers no tool
// that the client would run, asks for a single token, has a last prompt that
// begins as Claude Code's own or as one of Script.AuxiliaryPrompts, or, from
// Codex, is for a thread's title or not of the kind "turn". So a main
// conversation must offer a tool: a client with all its tools off is not
// recognised.
//
// # What the real clients were seen to send
//
// Claude Code 2.1.332 with ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY (or
// CLAUDE_CODE_OAUTH_TOKEN, which arrives as a bearer token) and nothing else:
//
//   - HEAD /api/hello once at start.
//   - POST /v1/messages?beta=true for each turn, streaming. The header
//     X-Claude-Code-Session-Id names the session and stays through --continue;
//     X-Claude-Code-Agent-Id names a subagent. The working directory is in a
//     message with the role system, the prompt in the last text of a user
//     message, after texts that begin with <system-reminder>.
//   - The same without tools and with a JSON schema, for a title. Only in the
//     terminal interface.
//   - POST /v1/messages/count_tokens, some two dozen for /context.
//   - After 429, 500, 529, an error event and a broken connection it tries
//     again; what it already had of a reply can be in the next request as an
//     assistant message. After 404 it tries once without streaming, after 400
//     several times with fewer of its beta features.
//
// Its tools headless are Agent Bash Edit ListAgents Read ReportFindings
// ScheduleWakeup Skill ToolSearch Workflow Write. Inputs:
//
//	Bash   {"command", "description"?, "timeout"? (ms), "run_in_background"?}
//	Write  {"file_path" (absolute), "content"}
//	Edit   {"file_path", "old_string", "new_string", "replace_all"?}, after a Read
//	Read   {"file_path", "offset"?, "limit"?}
//	Agent  {"description", "prompt", "subagent_type": "general-purpose"}
//
// Bash's result is the output; a failure is marked as an error and begins with
// "Exit code N". An Agent runs in the background: the result says that it was
// launched, and its answer comes later as a notice (Expect.Notice).
//
// Codex 0.171.0 with a model provider of wire_api = "responses":
//
//   - POST BASE/responses for each turn, streaming, uncompressed, with the
//     header Thread-Id and, in X-Codex-Turn-Metadata, what it is for. The
//     working directory is in a user message's <environment_context>.
//   - The same with thread_source "thread_title", for a title. Only in the
//     terminal interface.
//   - Nothing at start, and no list of models. With the built-in provider and
//     openai_base_url instead, one GET BASE/responses that asks for a
//     WebSocket; status 426 makes it post.
//   - The key of env_key as a bearer token. The built-in provider sends that of
//     CODEX_API_KEY (headless only) or of "codex login --with-api-key", and
//     nothing from OPENAI_API_KEY alone.
//   - After 404, 429, 5xx, an error event and a broken connection it tries
//     again, five times at most.
//
// Which tools it offers depends on the model's name. The newer ones, among
// them the default gpt-6.2-sol, are in code mode: tools come in an input item
// of the type additional_tools, and commands are JavaScript in the custom tool
// functions.exec, which runs in a program of its own (codex-code-mode-host,
// beside codex):
//
//	{"call": "exec", "namespace": "functions",
//	 "input": "const r = await tools.exec_command({cmd: \"ls\"}); text(r.output);"}
//	{"call": "exec", "namespace": "functions",
//	 "input": "text(await tools.apply_patch(`*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n`));"}
//	{"call": "spawn_agent", "namespace": "collaboration",
//	 "input": {"task_name": "a_name", "message": "SUBTASK ...", "fork_turns": "none"}}
//	{"call": "wait_agent", "namespace": "collaboration", "input": {"timeout_ms": 10000}}
//
// The result is "Script completed", a time and what text() was given, or
// "Script failed" and the error. apply_patch gives {}, which tells nothing.
// Older ones, such as gpt-5.5 and (without apply_patch) any unknown name, take
// direct calls:
//
//	{"call": "exec_command", "input": {"cmd": "ls", "workdir"?: "...", "yield_time_ms"?: 1000, "tty"?: true}}
//	{"call": "apply_patch", "input": "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n"}
//
// exec_command's result has "Process exited with code N" before the output,
// apply_patch's has "Exit code: N". A subagent's answer is a notice.
package scriptedapi
