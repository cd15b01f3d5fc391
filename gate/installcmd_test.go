package gate

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// program is the real cage-gate.
var program = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "cage-gate")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", dir+"/cage-gate", "../cmd/cage-gate")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(dir + "/cage-gate")
})

// installHost is a host whose cage-gate is the real program.
func installHost(t *testing.T) *host {
	t.Helper()
	h := newHost(t)
	data, err := program()
	if err != nil {
		t.Fatal(err)
	}
	h.write(h.bin+"/cage-gate", string(data), 0o755)
	return h
}

func (h *host) read(name string) string {
	h.t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

func TestInstall(t *testing.T) {
	h := installHost(t)
	claude, codex := h.home+"/.claude/settings.json", h.etc+"/codex/requirements.toml"
	before := "{\n  \"model\": \"x\",\n  \"permissions\": {\"allow\": []}\n}\n"
	h.write(claude, before, 0o640)
	h.write(codex, "# kept\n", 0o644)
	h.write(h.bin+"/gh-issue", "#!/bin/true\n", 0o755)
	h.config("mode = 'ask' # mine\n")

	if status, _, _ := h.run("", "status", "claude"); status != 2 {
		t.Errorf("not installed: status %d", status)
	}
	if out := h.must("install", "claude", "--dry-run"); !strings.Contains(out, "+ ") || h.read(claude) != before {
		t.Errorf("%s", out)
	}
	out := h.must("install", "claude")
	for _, want := range []string{"+     \"PreToolUse\": [", "proven: the hook of claude", h.home + "/work/gh-issue: written", "SKILL.md: written"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if st, err := os.Stat(claude); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", st, err)
	}
	if text := h.read(claude); !strings.Contains(text, "'"+h.bin+"/cage-gate' hook claude || { echo 'cage-gate: failed' ") {
		t.Errorf("%s", text)
	}
	if text := h.read(h.home + "/.config/agent-cage/gate.toml"); !strings.Contains(text, `helpers = ["`+h.home+`/work/gh-issue"]`) || !strings.Contains(text, "# mine") {
		t.Errorf("%s", text)
	}
	if _, stdout, _ := h.run("", "classify", "--", h.home+"/work/gh-issue list"); !strings.HasPrefix(stdout, "green\thelper") {
		t.Errorf("the helper is not green: %s", stdout)
	}
	was := h.read(claude)
	if out := h.must("install", "claude"); !strings.Contains(out, "no change") || h.read(claude) != was {
		t.Errorf("%s", out)
	}
	out = h.must("install", "codex")
	if !strings.Contains(out, "proven: the hook of codex") || !strings.HasPrefix(h.read(codex), "# kept\n") {
		t.Errorf("%s", out)
	}
	if out := h.must("status", "codex"); !strings.Contains(out, h.bin+"/cage-gate") {
		t.Errorf("%s", out)
	}

	h.must("uninstall", "codex")
	if h.read(codex) != "# kept\n" {
		t.Errorf("%q", h.read(codex))
	}
	h.read(h.home + "/work/gh-issue") // claude still uses it
	h.must("uninstall", "claude")
	if h.read(claude) != before || h.read(h.home+"/.config/agent-cage/gate.toml") != "mode = 'ask' # mine\n" {
		t.Errorf("%s%s", h.read(claude), h.read(h.home+"/.config/agent-cage/gate.toml"))
	}
	for _, gone := range []string{h.home + "/work/gh-issue", h.home + "/.claude/skills/agent-cage"} {
		if _, err := os.Lstat(gone); err == nil {
			t.Errorf("%s is left", gone)
		}
	}
	if out := h.must("uninstall", "claude"); !strings.Contains(out, "no change") {
		t.Errorf("%s", out)
	}
}

func TestInstallInNewHome(t *testing.T) {
	h := installHost(t)
	for _, args := range []string{"claude", "claude --scope managed", "codex", "codex --scope managed"} {
		h.must(append([]string{"install"}, strings.Fields(args)...)...)
		h.must(append([]string{"uninstall"}, strings.Fields(args)...)...)
	}
	for _, gone := range []string{h.home + "/.claude/settings.json", h.etc + "/claude-code/managed-settings.json", h.etc + "/codex/requirements.toml"} {
		if _, err := os.Lstat(gone); err == nil {
			t.Errorf("%s is left", gone)
		}
	}
}

func TestInstallRefuses(t *testing.T) {
	h := installHost(t)
	refused := func(what string, args ...string) {
		t.Helper()
		status, stdout, stderr := h.run("", args...)
		if status != 2 || stderr == "" {
			t.Errorf("%s: %d %q", what, status, stdout)
		}
	}
	refused("no harness", "install")
	refused("another harness", "install", "cursor")
	refused("codex has no user scope", "install", "codex", "--scope", "user")
	refused("another scope", "install", "claude", "--scope", "project")
	name := h.home + "/.claude/settings.json"
	h.write(name, "{ // comment\n}", 0o600)
	refused("not JSON", "install", "claude")
	if h.read(name) != "{ // comment\n}" {
		t.Error("it was changed")
	}
	os.Remove(name)
	h.write(h.project+"/settings.json", "{}", 0o600)
	if err := os.Symlink(h.project+"/settings.json", name); err != nil {
		t.Fatal(err)
	}
	refused("settings in the zone", "install", "claude")
	os.Remove(name)
	if err := os.Chmod(h.bin+"/cage-gate", 0o777); err != nil {
		t.Fatal(err)
	}
	refused("a program that others may change", "install", "claude")
	if _, err := os.Lstat(name); err == nil {
		t.Error("it was registered")
	}
}

// A hook that does not block when it is broken is found out.
func TestProveFindsABadHook(t *testing.T) {
	h := installHost(t)
	e, _, _ := h.env(strings.NewReader(""))
	_, z, err := e.load()
	if err != nil {
		t.Fatal(err)
	}
	gate := h.bin + "/cage-gate"
	for what, command := range map[string]string{
		"open when it fails":  "'" + gate + "' hook claude || true",
		"never runs the gate": "true",
		"always blocks":       "exit 2",
	} {
		if err := e.prove(target{harness: "claude"}, z, command); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}
