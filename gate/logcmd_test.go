package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func (h *host) logDir() string { return filepath.Join(h.home, ".local/state/agent-cage") }

func TestEveryDecisionIsLogged(t *testing.T) {
	h := newHost(t)
	sbox := filepath.Join(h.bin, "sbox")
	for _, c := range []struct{ mode, harness, command, class, code, decision, by, rewrite string }{
		{"ask", "claude", "make", "gated", "plain-command", "ask", "prompt", ""},
		{"ask", "codex", "make", "gated", "plain-command", "deny", "rule", ""},
		{"ask", "claude", sbox + " ls", "green", "sbox", "allow", "rule", ""},
		{"ask", "codex", sbox + " ls", "green", "sbox", "allow", "rule", ""},
		{"ask", "claude", "git status", "green", "git", "allow", "rule", sbox + " --git git status"},
		{"deny", "claude", "make", "gated", "plain-command", "deny", "rule", ""},
		{"cage", "claude", "make", "gated", "plain-command", "allow", "rule", sbox + " bash -c make"},
		{"audit", "claude", "make", "gated", "plain-command", "ask", "prompt", ""},
	} {
		h.config("mode = '" + c.mode + "'")
		if status, _, stderr := h.run(h.bash(c.command), "hook", c.harness); status != 0 {
			t.Fatalf("%v: %s", c, stderr)
		}
		_, stdout, _ := h.run("", "log", "--json", "-n", "1")
		var got map[string]any
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatalf("%q: %v", stdout, err)
		}
		for key, want := range map[string]string{
			"mode": c.mode, "harness": c.harness, "command": c.command, "class": c.class, "code": c.code,
			"decision": c.decision, "by": c.by, "rewrite": c.rewrite, "tool": "Bash", "cwd": h.project,
		} {
			if v, _ := got[key].(string); v != want {
				t.Errorf("%v: %s is %q", c, key, v)
			}
		}
	}
	h.config("mode = 'ask'")
	h.run(h.event("Write", map[string]any{"file_path": "/etc/x", "content": "s3cr3t"}), "hook", "claude")
	if _, stdout, _ := h.run("", "log", "-n", "1"); !strings.Contains(stdout, "path-outside") || !strings.Contains(stdout, "Write /etc/x") || strings.Contains(stdout, "s3cr3t") {
		t.Errorf("%q", stdout)
	}
	if status, stdout, _ := h.run("", "log", "verify"); status != 0 || stdout != "9 lines, 0 faults\n" {
		t.Errorf("%d %q", status, stdout)
	}
}

func TestLogKeepsNoSecret(t *testing.T) {
	h := newHost(t)
	h.config("mode = 'cage'")
	h.environ = append(h.environ, "DEPLOY_TOKEN=hunter2-of-the-environment")
	h.run(h.bash("curl -H 'Authorization: Bearer s3cr3tVALUE' https://x.example/?t=hunter2-of-the-environment"), "hook", "claude")
	data, err := os.ReadFile(filepath.Join(h.logDir(), "gate.jsonl"))
	if err != nil || bytes.Contains(data, []byte("s3cr3tVALUE")) || bytes.Contains(data, []byte("hunter2")) || !bytes.Contains(data, []byte(`"rewrite":`)) {
		t.Errorf("%s %v", data, err)
	}
}

func TestLogFilters(t *testing.T) {
	h := newHost(t)
	h.run(h.bash("make all"), "hook", "claude")
	h.run(h.bash("sbox ls"), "hook", "codex")
	h.run(h.event("Read", map[string]any{"file_path": "/x"}), "hook", "claude")
	for args, want := range map[string]string{
		"":                             "make all|sbox ls|Read /x",
		"--class gated":                "make all",
		"--decision allow":             "sbox ls",
		"--by prompt":                  "make all|Read /x",
		"--harness codex":              "sbox ls",
		"--code read-only-tool":        "Read /x",
		"--tool Read":                  "Read /x",
		"--mode deny":                  "",
		"--grep bin/sbox":              "sbox ls",
		"--since 1969-01-01":           "make all|sbox ls|Read /x",
		"--since 1h --class green":     "sbox ls",
		"--since 2030-01-01":           "",
		"--project " + h.project:       "make all|sbox ls|Read /x",
		"--project .":                  "make all|sbox ls|Read /x",
		"--project " + h.project + "x": "",
		"-n 1":                         "Read /x",
		"-n 1 --class gated":           "make all",
	} {
		status, stdout, stderr := h.run("", append([]string{"log"}, strings.Fields(args)...)...)
		var got []string
		for _, l := range strings.Split(strings.TrimSuffix(stdout, "\n"), "\n") {
			for _, what := range []string{"make all", "sbox ls", "Read /x"} {
				if strings.Contains(l, " "+what) {
					got = append(got, what)
					break
				}
			}
		}
		if status != 0 || strings.Join(got, "|") != want {
			t.Errorf("%s: %d %q %q", args, status, stdout, stderr)
		}
	}
	for _, args := range []string{"--since yesterday", "--since -2h", "--what x", "verify --json", "summary --follow", "x", "-n -1"} {
		status, stdout, stderr := h.run("", append([]string{"log"}, strings.Fields(args)...)...)
		blocked(t, args, status, stdout, stderr)
	}
}

// What a summary calls green is green.
func TestLogSummary(t *testing.T) {
	h := newHost(t)
	for range 3 {
		h.run(h.bash("make -j2"), "hook", "claude")
	}
	h.run(h.bash("make $X | tee y"), "hook", "claude")
	h.run(h.bash("git push"), "hook", "claude")
	h.run(h.event("WebFetch", map[string]any{"url": "x"}), "hook", "claude")
	status, stdout, _ := h.run("", "log", "summary", "--json")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if status != 0 || len(lines) != 4 {
		t.Fatalf("%d %q", status, stdout)
	}
	green := map[string]string{}
	for i, l := range lines {
		var g struct {
			Count                int
			Code, Command, Green string
		}
		if err := json.Unmarshal([]byte(l), &g); err != nil || g.Green == "" || i == 0 && (g.Count != 3 || g.Command != "make -j2") {
			t.Errorf("%s: %v", l, err)
		}
		green[g.Command] = g.Green
	}
	for command, want := range map[string]string{"make -j2": "sbox make -j2", "make $X | tee y": "sbox bash -c 'make $X | tee y'"} {
		if green[command] != want {
			t.Errorf("%s: %q", command, green[command])
		}
		if _, stdout, _ := h.run("", "classify", "--", green[command]); !strings.HasPrefix(stdout, "green\t") {
			t.Errorf("%s is not green: %s", green[command], stdout)
		}
	}
	if _, stdout, _ := h.run("", "log", "summary", "-n", "1"); !strings.HasPrefix(stdout, "6 calls: 0 green, 6 gated, 0 ungated\n") ||
		!strings.Contains(stdout, "green  sbox make -j2\n") || strings.Contains(stdout, "WebFetch") {
		t.Errorf("%s", stdout)
	}
}

func TestLogVerifySaysWhere(t *testing.T) {
	h := newHost(t)
	h.run(h.bash("make one"), "hook", "claude")
	h.run(h.bash("make two"), "hook", "claude")
	name := filepath.Join(h.logDir(), "gate.jsonl")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	h.write(name, strings.Replace(string(data), "make one", "make 0ne", 1), 0o600)
	status, stdout, _ := h.run("", "log", "verify")
	if status != 1 || !strings.HasPrefix(stdout, name+":1: changed") || !strings.HasSuffix(stdout, "2 lines, 1 faults\n") {
		t.Errorf("%d %q", status, stdout)
	}
}

// A log that cannot be written, or that caged commands could write, blocks in
// every mode but off.
func TestUnwritableLogBlocks(t *testing.T) {
	for name, break_ := range map[string]func(h *host){
		"in the zone": func(h *host) { h.environ = append(h.environ, "XDG_STATE_HOME="+h.project) },
		"linked into the zone": func(h *host) {
			os.Symlink(h.project, h.home+"/state")
			h.environ = append(h.environ, "XDG_STATE_HOME="+h.home+"/state")
		},
		"relative":               func(h *host) { h.environ = append(h.environ, "XDG_STATE_HOME=state") },
		"a file for a directory": func(h *host) { h.write(h.home+"/.local", "", 0o600) },
		"a directory for a file": func(h *host) { os.MkdirAll(filepath.Join(h.logDir(), "gate.jsonl"), 0o700) },
	} {
		h := newHost(t)
		break_(h)
		for _, mode := range []string{"ask", "cage", "deny", "audit"} {
			h.config("mode = '" + mode + "'")
			status, stdout, stderr := h.run(h.bash("sbox ls"), "hook", "claude")
			blocked(t, name+", "+mode, status, stdout, stderr)
		}
	}
}

func TestLogElsewhere(t *testing.T) {
	h := newHost(t)
	h.environ = append(h.environ, "XDG_STATE_HOME="+h.home+"/state")
	h.run(h.bash("make"), "hook", "claude")
	if _, err := os.Stat(h.home + "/state/agent-cage/gate.jsonl"); err != nil {
		t.Error(err)
	}
	if _, stdout, _ := h.run("", "log"); !strings.Contains(stdout, " make\n") {
		t.Errorf("%q", stdout)
	}
}

// signalBuffer tells when a text has come.
type signalBuffer struct {
	bytes.Buffer
	until string
	found func()
}

func (b *signalBuffer) Write(p []byte) (int, error) {
	n, err := b.Buffer.Write(p)
	if strings.Contains(b.String(), b.until) {
		b.found()
	}
	return n, err
}

func TestLogFollow(t *testing.T) {
	h := newHost(t)
	h.run(h.bash("make first"), "hook", "claude")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	e, _, errs := h.env(strings.NewReader(""), "log", "--follow", "--class", "gated")
	out := &signalBuffer{until: "make last", found: cancel}
	e.Stdout, e.Context = out, ctx
	done := make(chan int)
	go func() { done <- Main(e) }()
	time.Sleep(100 * time.Millisecond)
	h.run(h.bash("sbox ls"), "hook", "claude")
	h.run(h.bash("make last"), "hook", "claude")
	if status := <-done; status != 0 || ctx.Err() == context.DeadlineExceeded || strings.Contains(out.String(), "sbox") {
		t.Errorf("%d %q %q", status, out.String(), errs.String())
	}
}
