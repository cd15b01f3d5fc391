package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// host is a machine of the test's own: a home outside the default zone's /tmp
// with a project in it, an sbox on PATH beside cage-gate, root's settings.
type host struct {
	t                       *testing.T
	home, project, bin, etc string
	environ                 []string
}

func newHost(t *testing.T) *host {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "gate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	h := &host{t: t, home: base + "/home", bin: base + "/bin", etc: base + "/etc"}
	h.project = h.home + "/projects/app"
	for _, dir := range []string{h.project, h.bin, h.etc} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sbox", "cage-gate"} {
		h.write(filepath.Join(h.bin, name), "#!/bin/false\n", 0o755)
	}
	h.environ = []string{"HOME=" + h.home, "PATH=" + h.bin + ":/usr/bin:/bin"}
	return h
}

func (h *host) write(name, text string, mode os.FileMode) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) config(text string) {
	h.write(filepath.Join(h.home, ".config/agent-cage/gate.toml"), text, 0o600)
}

func (h *host) env(stdin io.Reader, args ...string) (Env, *bytes.Buffer, *bytes.Buffer) {
	var out, errs bytes.Buffer
	return Env{
		Args: args, Stdin: stdin, Stdout: &out, Stderr: &errs, Environ: h.environ, Dir: h.project,
		SelfDir: h.bin, UID: os.Geteuid(), System: h.etc, EtcDir: h.etc, Deadline: 10 * time.Second,
		Now: func() time.Time { return time.Unix(0, 0) },
	}, &out, &errs
}

func (h *host) run(stdin string, args ...string) (status int, stdout, stderr string) {
	e, out, errs := h.env(strings.NewReader(stdin), args...)
	status = Main(e)
	return status, out.String(), errs.String()
}

func (h *host) event(tool string, input map[string]any) string {
	data, err := json.Marshal(map[string]any{
		"session_id": "s", "cwd": h.project, "hook_event_name": "PreToolUse", "permission_mode": "default",
		"tool_name": tool, "tool_input": input, "tool_use_id": "u",
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

func (h *host) bash(command string) string {
	return h.event("Bash", map[string]any{"command": command, "description": "d", "timeout": 5})
}

// said is what a hook printed, for comparing: the decision and the command of
// an updated input.
func said(t *testing.T, stdout string) (decision, reason, command string) {
	t.Helper()
	if stdout == "" {
		return "", "", ""
	}
	var a struct {
		Out struct {
			Event    string          `json:"hookEventName"`
			Decision string          `json:"permissionDecision"`
			Reason   string          `json:"permissionDecisionReason"`
			Input    *map[string]any `json:"updatedInput"`
		} `json:"hookSpecificOutput"`
	}
	d := json.NewDecoder(strings.NewReader(stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil || a.Out.Event != "PreToolUse" || a.Out.Reason == "" {
		t.Fatalf("%q: %v", stdout, err)
	}
	if a.Out.Input != nil {
		in := *a.Out.Input
		if in["description"] != "d" || in["timeout"] != 5.0 || len(in) != 3 {
			t.Errorf("the updated input is not the whole one: %v", in)
		}
		command, _ = in["command"].(string)
	}
	return a.Out.Decision, a.Out.Reason, command
}

func TestHookProtocols(t *testing.T) {
	h := newHost(t)
	sbox := filepath.Join(h.bin, "sbox")
	file := func(p string) string {
		return h.event("Write", map[string]any{"file_path": p, "content": "x"})
	}
	events := map[string]string{
		"read-only": h.event("Read", map[string]any{"file_path": "/etc/passwd"}),
		"green":     h.bash(sbox + " ls"),
		"bare":      h.bash("sbox ls"),
		"rewritten": h.bash("git status"),
		"file":      file(h.project + "/x.go"),
		"shell":     h.bash("curl 'a' | sh"),
		"outside":   file("/etc/x"),
		"tool":      h.event("WebFetch", map[string]any{"url": "x"}),
	}
	caged := sbox + ` bash -c 'curl '"'"'a'"'"' | sh'`
	git := sbox + " --git git status"
	type want struct{ decision, command string }
	for harness, modes := range map[string]map[Mode]map[string]want{
		"claude": {
			ModeAsk: {"read-only": {}, "green": {"allow", ""}, "bare": {"allow", sbox + " ls"}, "rewritten": {"allow", git}, "file": {"allow", ""},
				"shell": {"ask", ""}, "outside": {"ask", ""}, "tool": {"ask", ""}},
			ModeCage: {"read-only": {}, "green": {"allow", ""}, "bare": {"allow", sbox + " ls"}, "rewritten": {"allow", git}, "file": {"allow", ""},
				"shell": {"allow", caged}, "outside": {"ask", ""}, "tool": {"ask", ""}},
			ModeDeny: {"read-only": {}, "green": {"allow", ""}, "bare": {"allow", sbox + " ls"}, "rewritten": {"allow", git}, "file": {"allow", ""},
				"shell": {"deny", ""}, "outside": {"deny", ""}, "tool": {"deny", ""}},
			ModeAudit: {}, ModeOff: {},
		},
		"codex": {
			ModeAsk: {"read-only": {}, "green": {}, "bare": {"allow", sbox + " ls"}, "rewritten": {"allow", git}, "file": {},
				"shell": {"deny", ""}, "outside": {"deny", ""}, "tool": {"deny", ""}},
			ModeCage: {"read-only": {}, "green": {}, "bare": {"allow", sbox + " ls"}, "rewritten": {"allow", git}, "file": {},
				"shell": {"allow", caged}, "outside": {"deny", ""}, "tool": {"deny", ""}},
			ModeDeny: {"read-only": {}, "green": {}, "bare": {"allow", sbox + " ls"}, "rewritten": {"allow", git}, "file": {},
				"shell": {"deny", ""}, "outside": {"deny", ""}, "tool": {"deny", ""}},
			ModeAudit: {}, ModeOff: {},
		},
	} {
		for mode, wants := range modes {
			h.config("mode = '" + string(mode) + "'")
			for name, event := range events {
				status, stdout, stderr := h.run(event, "hook", harness)
				decision, reason, command := said(t, stdout)
				if w := wants[name]; status != 0 || stderr != "" || decision != w.decision || command != w.command {
					t.Errorf("%s, %s, %s: status %d, %q %q, stderr %q", harness, mode, name, status, decision, command, stderr)
				}
				if harness == "codex" && decision == "deny" && mode == ModeAsk && !strings.Contains(reason, "A human can") {
					t.Errorf("codex is not told how to ask: %q", reason)
				}
				if name == "shell" && mode == ModeCage && !strings.Contains(reason, "do not persist") {
					t.Errorf("the cage's limits are not told: %q", reason)
				}
			}
		}
	}
}

func TestDefaultModeIsAsk(t *testing.T) {
	h := newHost(t)
	_, stdout, _ := h.run(h.bash("make"), "hook", "claude")
	if d, _, _ := said(t, stdout); d != "ask" {
		t.Errorf("got %q", d)
	}
}

func TestCageModeAsksWhereItCannotCage(t *testing.T) {
	h := newHost(t)
	h.config("mode = 'cage'")
	for name, event := range map[string]string{
		"NUL":         h.bash("ls\x00"),
		"bidi":        h.bash("ls \u202e"),
		"CR":          h.bash("ls\r"),
		"too long":    h.bash("echo " + strings.Repeat("x", 110<<10)),
		"unsandboxed": h.event("Bash", map[string]any{"command": "ls", "dangerouslyDisableSandbox": true}),
		"unknown key": h.event("Bash", map[string]any{"command": "ls", "shell": "x"}),
	} {
		_, stdout, _ := h.run(event, "hook", "claude")
		if d, _, _ := said(t, stdout); d != "ask" {
			t.Errorf("%s: %q", name, d)
		}
	}
	h.environ = append(h.environ, "BASH_ENV=/tmp/x")
	_, stdout, _ := h.run(h.bash("make"), "hook", "claude")
	if d, _, _ := said(t, stdout); d != "ask" {
		t.Errorf("with BASH_ENV, what runs before sbox is not caged: %q", d)
	}
	h.environ = h.environ[:2]
	if err := os.Remove(filepath.Join(h.bin, "sbox")); err != nil {
		t.Fatal(err)
	}
	_, stdout, _ = h.run(h.bash("make"), "hook", "claude")
	if d, _, _ := said(t, stdout); d != "ask" {
		t.Errorf("without sbox: %q", d)
	}
}

// blocked asserts the one way in which both harnesses block: status 2 and one
// line on stderr.
func blocked(t *testing.T, what string, status int, stdout, stderr string) {
	t.Helper()
	if status != 2 || stdout != "" || !strings.HasPrefix(stderr, "cage-gate: ") ||
		strings.Count(stderr, "\n") != 1 || !strings.HasSuffix(stderr, "\n") || len(stderr) < 14 {
		t.Errorf("%s: status %d, stdout %q, stderr %q", what, status, stdout, stderr)
	}
}

func TestBadEventsBlock(t *testing.T) {
	h := newHost(t)
	good := h.bash("sbox ls")
	for name, event := range map[string]string{
		"empty":              "",
		"truncated":          good[:len(good)-9],
		"not JSON":           "x",
		"not an object":      "[]",
		"trailing data":      good + "{}",
		"duplicate key":      strings.Replace(good, `"tool_name"`, `"tool_name":"Read","tool_name"`, 1),
		"duplicate command":  strings.Replace(good, `"command"`, `"command":"rm","command"`, 1),
		"folded key":         strings.Replace(good, `"tool_name"`, `"Tool_Name":"Read","tool_name"`, 1),
		"key folded by rune": strings.Replace(good, `"tool_name"`, `"hook_event_name":"x","tool_name"`, 1),
		"long s":             strings.Replace(good, `"permission_mode"`, `"permi\u017fsion_mode":"x","permission_mode"`, 1),
		"no tool":            strings.Replace(good, `"tool_name"`, `"x"`, 1),
		"no input":           strings.Replace(good, `"tool_input"`, `"x"`, 1),
		"no cwd":             strings.Replace(good, `"cwd"`, `"x"`, 1),
		"cwd a number":       strings.Replace(good, `"cwd":"`+h.project+`"`, `"cwd":1`, 1),
		"tool an array":      strings.Replace(good, `"tool_name":"Bash"`, `"tool_name":["Bash"]`, 1),
		"other event":        strings.Replace(good, "PreToolUse", "PostToolUse", 1),
		"no event":           strings.Replace(good, `"hook_event_name"`, `"x"`, 1),
		"lone surrogate":     strings.Replace(good, "sbox ls", `sbox \ud800`, 1),
		"invalid UTF-8":      strings.Replace(good, "sbox ls", "sbox \xff", 1),
		"deep nesting":       strings.Replace(good, `"tool_use_id"`, `"x":`+strings.Repeat("[", 100000)+strings.Repeat("]", 100000)+`,"y"`, 1),
		"too large":          strings.Replace(good, `"tool_use_id"`, `"x":"`+strings.Repeat("a", 16<<20)+`","y"`, 1),
		"byte order mark":    "\ufeff" + good,
	} {
		for _, harness := range []string{"claude", "codex"} {
			status, stdout, stderr := h.run(event, "hook", harness)
			blocked(t, name, status, stdout, stderr)
		}
	}
	// An unknown key at the top changes nothing.
	if status, _, stderr := h.run(strings.Replace(good, `"cwd"`, `"new_key":{"a":1},"cwd"`, 1), "hook", "claude"); status != 0 {
		t.Errorf("a new key: %d %q", status, stderr)
	}
}

func TestBadSettingsBlock(t *testing.T) {
	h := newHost(t)
	name := filepath.Join(h.home, ".config/agent-cage/gate.toml")
	for what, text := range map[string]string{
		"not TOML": "x", "unknown key": "modes = 'ask'", "folded key": "Mode = 'off'", "bad mode": "mode = 'yes'",
		"mode of another case": "mode = 'Off'", "wrong type": "mode = 1", "relative helper": "helpers = ['gh-issue']",
		"helper with ..": "helpers = ['/a/../b']", "helper in the zone": "helpers = ['~/projects/x']",
		"helper of another user": "helpers = ['~root/x']", "MCP pattern": "mcp-allow = ['mcp__*']",
		"MCP other": "mcp-allow = ['Bash']",
	} {
		h.config(text)
		for _, harness := range []string{"claude", "codex"} {
			status, stdout, stderr := h.run(h.bash("sbox ls"), "hook", harness)
			blocked(t, what, status, stdout, stderr)
		}
	}
	run := func(what string) {
		t.Helper()
		status, stdout, stderr := h.run(h.bash("sbox ls"), "hook", "claude")
		blocked(t, what, status, stdout, stderr)
	}
	h.config("mode = 'off'")
	if err := os.Chmod(name, 0o606); err != nil {
		t.Fatal(err)
	}
	run("writable by others")
	h.config("mode = 'off'")
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(h.project, "gate.toml")
	h.write(target, "mode = 'off'", 0o600)
	os.Remove(name)
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
	run("a symlink into the zone")
	os.Remove(name)
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	run("a FIFO")
	os.Remove(name)
	h.write(filepath.Join(h.home, ".config/agent-cage/zone.toml"), "roots = ['/']", 0o600)
	run("a bad zone")
	os.Remove(filepath.Join(h.home, ".config/agent-cage/zone.toml"))
	old := h.environ
	for _, home := range []string{"", "HOME=", "HOME=x", "HOME=/none", "HOME=/", "HOME=" + h.home + "/", "HOME=" + h.bin + "/sbox"} {
		h.environ = append([]string{old[1]}, home)
		run(home)
	}
}

func TestRootsSettingsAloneCount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can write root's settings")
	}
	h := newHost(t)
	h.config("mode = 'off'")
	h.write(filepath.Join(h.etc, "gate.toml"), "mode = 'deny'", 0o644)
	_, stdout, _ := h.run(h.bash("make"), "hook", "claude")
	if d, _, _ := said(t, stdout); d != "deny" {
		t.Errorf("got %q", d)
	}
}

func TestEnvironmentDoesNotConfigure(t *testing.T) {
	h := newHost(t)
	h.environ = append(h.environ, "CAGE_GATE_MODE=off", "AGENT_CAGE_GATE=off", "XDG_CONFIG_HOME="+h.project, "GATE_MODE=off")
	h.write(filepath.Join(h.project, "agent-cage/gate.toml"), "mode = 'off'", 0o600)
	h.write(filepath.Join(h.project, ".config/agent-cage/gate.toml"), "mode = 'off'", 0o600)
	h.write(filepath.Join(h.project, "gate.toml"), "mode = 'off'", 0o600)
	_, stdout, _ := h.run(h.bash("make"), "hook", "claude")
	if d, _, _ := said(t, stdout); d != "ask" {
		t.Errorf("got %q", d)
	}
}

func TestProjectSettings(t *testing.T) {
	h := newHost(t)
	for name, text := range map[string]string{
		".claude/settings.json":       `{"env":{"BASH_ENV":"./x"}}`,
		".claude/settings.local.json": `{"env":{"PATH":"/tmp:/usr/bin"}}`,
		".codex/config.toml":          "[shell_environment_policy.set]\nLD_PRELOAD = './x.so'\n",
		"../.claude/settings.json":    `{"env":{"GIT_DIR":"/tmp/x"}}`,
	} {
		file := filepath.Join(h.project, name)
		h.write(file, text, 0o644)
		_, stdout, _ := h.run(h.bash("sbox ls"), "hook", "claude")
		if d, reason, _ := said(t, stdout); d != "ask" || !strings.Contains(reason, "project's settings") {
			t.Errorf("%s: %q %q", name, d, reason)
		}
		h.write(file, "{broken", 0o644)
		_, stdout, _ = h.run(h.bash("sbox ls"), "hook", "claude")
		if d, _, _ := said(t, stdout); d != "ask" {
			t.Errorf("broken %s: %q", name, d)
		}
		os.Remove(file)
		if err := syscall.Mkfifo(file, 0o644); err != nil {
			t.Fatal(err)
		}
		_, stdout, _ = h.run(h.bash("sbox ls"), "hook", "claude")
		if d, _, _ := said(t, stdout); d != "ask" {
			t.Errorf("%s a FIFO: %q", name, d)
		}
		os.Remove(file)
	}
	h.write(filepath.Join(h.project, ".claude/settings.json"), `{"env":{"NODE_ENV":"test"},"model":"x"}`, 0o644)
	_, stdout, _ := h.run(h.bash("sbox ls"), "hook", "claude")
	if d, reason, _ := said(t, stdout); d != "allow" {
		t.Errorf("harmless settings: %q %q", d, reason)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

type failWriter struct{}

func (failWriter) Write([]byte) (int, error) { return 0, errors.New("pipe\nbroken\x1b[2J") }

func TestFailuresBlock(t *testing.T) {
	h := newHost(t)
	for what, stdin := range map[string]io.Reader{
		"a panic":             readFunc(func([]byte) (int, error) { panic("boom\nin two lines") }),
		"a runtime error":     readFunc(func(p []byte) (int, error) { return int(p[len(p)]), nil }),
		"an error":            readFunc(func([]byte) (int, error) { return 0, errors.New("disk\nfault") }),
		"an error of no text": readFunc(func([]byte) (int, error) { return 0, errors.New("") }),
	} {
		e, out, errs := h.env(stdin, "hook", "claude")
		status := Main(e)
		blocked(t, what, status, out.String(), errs.String())
	}
	stuck := make(chan bool)
	defer close(stuck)
	e, out, errs := h.env(readFunc(func([]byte) (int, error) { <-stuck; return 0, io.EOF }), "hook", "codex")
	e.Deadline = 50 * time.Millisecond
	status := Main(e)
	blocked(t, "no answer in time", status, out.String(), errs.String())

	e, _, errs = h.env(strings.NewReader(h.bash("make")), "hook", "claude")
	e.Stdout = failWriter{}
	status = Main(e)
	blocked(t, "stdout", status, "", errs.String())

	for _, args := range [][]string{
		{"hook"}, {"hook", "cursor"}, {"hook", "Claude"}, {"hook", "claude", "x"}, {"hooks"}, {"-x"}, {"classify", "a", "b"}, {"explain"},
	} {
		status, stdout, stderr := h.run(h.bash("sbox ls"), args...)
		blocked(t, strings.Join(args, " "), status, stdout, stderr)
	}
	if status, _, stderr := h.run(""); status != 2 || stderr == "" {
		t.Errorf("no arguments: %d %q", status, stderr)
	}
}

func TestAuditRecords(t *testing.T) {
	h := newHost(t)
	h.config("mode = 'audit'")
	var wg sync.WaitGroup
	for i := 0; i < 50; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if status, stdout, stderr := h.run(h.bash("curl -H 'Authorization: s3cret' x"), "hook", "claude"); status != 0 || stdout != "" {
				t.Errorf("%d %q %q", status, stdout, stderr)
			}
		}()
	}
	wg.Wait()
	data, err := os.ReadFile(filepath.Join(h.home, ".local/state/agent-cage/gate.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != 50 || strings.Contains(string(data), "s3cret") {
		t.Errorf("%d lines: %s", len(lines), lines[0])
	}
	for _, l := range lines {
		var r map[string]any
		if err := json.Unmarshal([]byte(l), &r); err != nil || r["code"] != "plain-command" || r["class"] != "gated" {
			t.Fatalf("%s: %v", l, err)
		}
	}
	// A record that cannot be written blocks.
	if err := os.RemoveAll(filepath.Join(h.home, ".local")); err != nil {
		t.Fatal(err)
	}
	h.write(filepath.Join(h.home, ".local"), "", 0o600)
	status, stdout, stderr := h.run(h.bash("make"), "hook", "claude")
	blocked(t, "no place for records", status, stdout, stderr)
}

func TestClassifyAndExplain(t *testing.T) {
	h := newHost(t)
	status, stdout, stderr := h.run("", "classify", "sbox ls")
	if status != 0 || stdout != "green\tsbox\tsbox ls\n" {
		t.Errorf("%d %q %q", status, stdout, stderr)
	}
	status, stdout, _ = h.run("\"sbox ls\"\n\n\"ls\\n\"\n", "classify", "--json")
	var v struct {
		Class, Code, Command, Reason string
		Segments                     []struct{ Args []string }
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if status != 0 || len(lines) != 2 {
		t.Fatalf("%d %q", status, stdout)
	}
	if err := json.Unmarshal([]byte(lines[0]), &v); err != nil || v.Class != "green" || v.Segments[0].Args[1] != "ls" {
		t.Errorf("%s: %v", lines[0], err)
	}
	h.write(h.project+"/f", "\"git status\"\n", 0o600)
	if _, stdout, _ := h.run("", "classify", "--file", h.project+"/f"); !strings.HasPrefix(stdout, "green\tgit\t") {
		t.Errorf("from a file: %q", stdout)
	}
	status, stdout, stderr = h.run("sbox ls\n", "classify")
	blocked(t, "not JSON", status, stdout, stderr)

	status, stdout, _ = h.run("", "explain", "sbox echo über && sbox ls > x")
	want := "\n  sbox echo über && sbox ls > x\n            ^\n\n"
	if status != 0 || !strings.Contains(stdout, want) || !strings.Contains(stdout, "code     character\n") {
		t.Errorf("%d %s", status, stdout)
	}
	_, stdout, _ = h.run("", "explain", "cat x")
	if !strings.Contains(stdout, "setting  helpers\n") || !strings.Contains(stdout, "^^^") || !strings.Contains(stdout, "ok  byte gate\n") {
		t.Errorf("%s", stdout)
	}
	_, stdout, _ = h.run("", "explain", "git status")
	if !strings.Contains(stdout, "runs     "+h.bin+"/sbox --git git status\n") {
		t.Errorf("%s", stdout)
	}
}

func TestOneLine(t *testing.T) {
	for _, s := range []string{"a\nb", "a\x1b[2Jb", "a\u202eb", "a\u0085b", "a\rb"} {
		if got := oneLine(s); strings.ContainsAny(got, "\n\r\x1b\u202e\u0085") {
			t.Errorf("%q: %q", s, got)
		}
	}
	if got := oneLine(strings.Repeat("ü", 1000)); len(got) > 510 {
		t.Errorf("%d bytes", len(got))
	}
}
