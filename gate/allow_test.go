package gate

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// decides returns what the hook makes of a command in a directory.
func (h *host) decides(dir, command string) (decision, rewrite string) {
	h.t.Helper()
	old := h.project
	h.project = dir
	event := h.bash(command)
	h.project = old
	status, stdout, stderr := h.run(event, "hook", "claude")
	if status != 0 {
		h.t.Fatalf("%s: %s", command, stderr)
	}
	decision, _, rewrite = said(h.t, stdout)
	return decision, rewrite
}

func (h *host) must(args ...string) string {
	h.t.Helper()
	status, stdout, stderr := h.run("", args...)
	if status != 0 {
		h.t.Fatalf("%q: %d %s", args, status, stderr)
	}
	return stdout
}

func TestAllow(t *testing.T) {
	h := newHost(t)
	deploy := filepath.Join(h.bin, "deploy")
	h.write(deploy, "#!/bin/false\n", 0o755)
	other := h.home + "/projects/other"
	for _, dir := range []string{other, h.project + "/sub", h.project + "/.git"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if d, _ := h.decides(h.project, "deploy staging now"); d != "ask" {
		t.Fatalf("before: %q", d)
	}
	out := h.must("allow", "deploy", "staging")
	if !strings.Contains(out, "deploy staging …") || !strings.Contains(out, h.project) {
		t.Errorf("%q", out)
	}
	st, err := os.Stat(h.home + "/.config/agent-cage/approvals.json")
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
	for command, want := range map[string]string{
		"deploy staging":              deploy + " staging",
		"deploy staging now":          deploy + " staging now",
		"deploy 'staging' 'a b' 2>&1": deploy + " staging 'a b' 2>&1",
		"sbox ls && deploy staging":   h.bin + "/sbox ls && " + deploy + " staging",
		"deploy":                      "",
		"deploy production":           "",
		"deploy staging2":             "",
		"deploy -v staging":           "",
		"deploy staging; ls":          "",
		"deploy staging $X":           "",
		"deploy staging > /etc/x":     "",
		"X=1 deploy staging":          "",
		"deploy staging && ls":        "",
		"deploy staging ^x":           "",
		h.bin + "/deploy staging":     "",
		"./deploy staging":            "",
		"sudo deploy staging":         "",
		"deploy staging | cat":        "",
	} {
		d, got := h.decides(h.project, command)
		if (d == "allow") != (want != "") || got != want {
			t.Errorf("%s: %q %q, want %q", command, d, got, want)
		}
	}
	if d, _ := h.decides(h.project+"/sub", "deploy staging"); d != "allow" {
		t.Errorf("below the project: %q", d)
	}
	if d, _ := h.decides(other, "deploy staging"); d != "ask" {
		t.Errorf("in another project: %q", d)
	}
	h.decides(h.project, "deploy staging")
	if out := h.must("log", "-n", "1", "--by", "memory"); !strings.Contains(out, "deploy staging") || !strings.Contains(out, "remembered") {
		t.Errorf("the use is not logged: %q", out)
	}

	// A program that others could change, or that is in fact an interpreter.
	if err := os.Chmod(deploy, 0o777); err != nil {
		t.Fatal(err)
	}
	if d, _ := h.decides(h.project, "deploy staging"); d != "ask" {
		t.Errorf("writable by others: %q", d)
	}
	os.Remove(deploy)
	if err := os.Symlink("/bin/sh", deploy); err != nil {
		t.Fatal(err)
	}
	if d, _ := h.decides(h.project, "deploy staging"); d != "ask" {
		t.Errorf("a shell by another name: %q", d)
	}
	os.Remove(deploy)
	h.write(deploy, "#!/bin/false\n", 0o755)

	h.must("revoke", "deploy", "staging")
	if d, _ := h.decides(h.project, "deploy staging"); d != "ask" {
		t.Errorf("revoked: %q", d)
	}
	status, stdout, stderr := h.run("", "revoke", "deploy", "staging")
	blocked(t, "revoked twice", status, stdout, stderr)
	h.must("allow", "--all", "--for", "2h", "deploy")
	if d, _ := h.decides(other, "deploy staging"); d != "allow" {
		t.Errorf("everywhere: %q", d)
	}
	if out := h.must("allowed"); !strings.Contains(out, "everywhere") {
		t.Errorf("%q", out)
	}
	if out := h.must("allowed", "--json"); !strings.Contains(out, `"args":["deploy"]`) {
		t.Errorf("%q", out)
	}
}

func TestAllowExpires(t *testing.T) {
	h := newHost(t)
	h.write(filepath.Join(h.bin, "deploy"), "#!/bin/false\n", 0o755)
	h.must("allow", "--for", "1h", "deploy")
	for after, want := range map[time.Duration]bool{0: true, 59 * time.Minute: true, time.Hour: false, 48 * time.Hour: false} {
		e, out, _ := h.env(strings.NewReader(h.bash("deploy x")), "hook", "claude")
		e.Now = func() time.Time { return time.Unix(0, 0).Add(after) }
		Main(e)
		if d, _, _ := said(t, out.String()); (d == "allow") != want {
			t.Errorf("after %v: %q", after, d)
		}
	}
}

func TestWhatCannotBeAllowed(t *testing.T) {
	h := newHost(t)
	inZone := h.project + "/tool"
	h.write(inZone, "#!/bin/false\n", 0o755)
	if err := os.Symlink(inZone, h.bin+"/linked"); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"bash", "sh -c ls", "python3 x.py", "python3.11 -V", "node x", "env make", "sudo ls", "timeout 5 ls", "xargs ls", "nice ls",
		"git push", "/usr/bin/git status", "sbox ls", "cage-gate allow x", "make", "find .", "ssh x", "docker", "docker run x",
		"npm", "npm run x", "gh", "gh api x", "./tool", "tool/../x", inZone, "linked", "nowhere-to-be-found", "/usr/bin/../bin/ls",
		"busybox ls", "/bin/sh",
		"--what x", "", "--all --project . ls", "--for tomorrow ls", "--for -1h ls", "--for 0s ls", "--project /nowhere/x ls",
	} {
		status, stdout, stderr := h.run("", append([]string{"allow"}, strings.Fields(args)...)...)
		blocked(t, "allow "+args, status, stdout, stderr)
	}
	for _, args := range [][]string{{"allow", "ls;rm"}, {"allow", "ls\n"}, {"allow", "", "x"}, {"allow", "X=1"}, {"allow", "~/x"}} {
		status, stdout, stderr := h.run("", args...)
		blocked(t, strings.Join(args, " "), status, stdout, stderr)
	}
	if out := h.must("allowed"); out != "" {
		t.Errorf("%q", out)
	}
	// Even if it is written there by hand.
	h.write(h.home+"/.config/agent-cage/approvals.json",
		`{"commands":[{"args":["bash"],"added":"2026-01-01T00:00:00Z"},{"args":["linked"],"added":"2026-01-01T00:00:00Z"},{"args":["git"],"added":"2026-01-01T00:00:00Z"}]}`, 0o600)
	for _, command := range []string{"bash -c ls", "linked", "git push", "git -c x=y status"} {
		if d, _ := h.decides(h.project, command); d == "allow" {
			t.Errorf("%s is allowed", command)
		}
	}
}

func TestBadApprovalsGate(t *testing.T) {
	h := newHost(t)
	h.write(filepath.Join(h.bin, "deploy"), "#!/bin/false\n", 0o755)
	name := h.home + "/.config/agent-cage/approvals.json"
	good := `{"commands":[{"args":["deploy"],"added":"2026-01-01T00:00:00Z"}]}`
	h.write(name, good, 0o600)
	if d, _ := h.decides(h.project, "deploy"); d != "allow" {
		t.Fatalf("the good one: %q", d)
	}
	for what, text := range map[string]string{
		"no program": `{"commands":[{"args":[]}]}`, "empty": "", "unknown key": `{"comands":[]}`, "two values": good + good,
		"not JSON": "x", "empty program": `{"commands":[{"args":[""]}]}`,
	} {
		h.write(name, text, 0o600)
		if d, _ := h.decides(h.project, "deploy"); d != "ask" {
			t.Errorf("%s: %q", what, d)
		}
	}
	h.write(name, good, 0o602)
	if d, _ := h.decides(h.project, "deploy"); d != "ask" {
		t.Errorf("writable by others: %q", d)
	}
	os.Remove(name)
	h.write(h.project+"/a.json", good, 0o600)
	if err := os.Symlink(h.project+"/a.json", name); err != nil {
		t.Fatal(err)
	}
	if d, _ := h.decides(h.project, "deploy"); d != "ask" {
		t.Errorf("in the zone: %q", d)
	}
}

func TestManyAllowAtOnce(t *testing.T) {
	h := newHost(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			h.must("allow", "true", strings.Repeat("x", i+1))
		}()
	}
	wg.Wait()
	if n := strings.Count(h.must("allowed"), "\n"); n != 20 {
		t.Errorf("%d of 20", n)
	}
}
