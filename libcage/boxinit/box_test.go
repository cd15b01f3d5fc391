//go:build linux

package boxinit_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/handshake"
	"github.com/agent-cage/agent-cage/libcage/plan"
)

// TestHarnessIsConfined looks at the harness from inside.
func TestHarnessIsConfined(t *testing.T) {
	for _, tty := range []bool{false, true} {
		t.Run(fmt.Sprintf("tty=%v", tty), func(t *testing.T) {
			e := testBox{TTY: tty, Run: sh(`
				grep -E '^(Cap|SigBlk|SigIgn|NoNewPrivs|Groups|Umask|Uid|Gid)' /proc/self/status
				echo name $(id -un) $(id -gn) $HOME $(stat -c %U:%a ~) $SHELL $IMAGE $PWD $(pwd)
				echo nofile $(ulimit -n) $(ulimit -Hn)
				echo session $(cut -d' ' -f6 /proc/$$/stat) $$
				cat /proc/1/environ /proc/1/mem >/dev/null 2>&1 && echo reads PID 1
				kill -STOP 1 2>/dev/null && echo signals PID 1
				{ echo x >/proc/sys/kernel/core_pattern && echo writes core_pattern; } 2>/dev/null
				ls /run/agent-cage/lifeline.sock >/dev/null && echo named >/dev/stdout
				true
			`)}.run(t)
			out := strings.ReplaceAll(e.Out, "\r\n", "\n")
			for _, want := range []string{
				"CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\n",
				"SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n",
				"Umask:\t0022\n", "Uid:\t1000\t1000\t1000\t1000\n", "Gid:\t1000\t1000\t1000\t1000\n", "Groups:\t1000 \n",
				"name zoe zoe /home/zoe zoe:700 /bin/bash 1 / /\n",
				"named\n",
			} {
				if !strings.Contains(out, want) {
					t.Errorf("missing %q", want)
				}
			}
			if m := regexp.MustCompile(`(?m)^session (\d+) (\d+)$`).FindStringSubmatch(out); m == nil || m[1] != m[2] {
				t.Error("no session of its own")
			}
			for _, never := range []string{"reads PID 1", "signals PID 1", "writes core_pattern"} {
				if strings.Contains(out, never) {
					t.Errorf("the harness %s", never)
				}
			}
			if e.Status != 0 || e.Err != "" || t.Failed() {
				t.Errorf("status %d, stderr %q, output:\n%s", e.Status, e.Err, out)
			}
		})
	}
}

// TestDescriptors: the harness has the three streams and what it opens itself.
func TestDescriptors(t *testing.T) {
	e := testBox{Run: command("ls", "/proc/self/fd")}.run(t)
	if want := "0\n1\n2\n3\n"; e.Out != want { // 3 is the directory being listed
		t.Errorf("descriptors %q, want %q", e.Out, want)
	}
}

// TestEnds: the box's status is the harness's own end.
func TestEnds(t *testing.T) {
	want := map[string]int{
		"exit 0": 0, "exit 1": 1, "exit 125": 125, "exit 126": 126, "exit 127": 127, "exit 255": 255,
		// Grandchildren that hold the streams do not hold the box.
		"sleep 60 & exit 7": 7, "setsid sleep 60 & exec true": 0,
		// A stop at the top level is undone.
		"kill -STOP $$; exit 9": 9,
		"kill -TSTP $$; exit 9": 9,
	}
	for _, s := range []struct {
		name string
		n    int
	}{{"INT", 2}, {"TERM", 15}, {"KILL", 9}, {"HUP", 1}, {"QUIT", 3}, {"SEGV", 11}, {"ABRT", 6}, {"PIPE", 13}} {
		want["kill -"+s.name+" $$; sleep 9"] = 128 + s.n
	}
	for script, status := range want {
		t.Run(script, func(t *testing.T) {
			e := testBox{Run: sh(script)}.run(t)
			if e.Status != status || e.Outcome.Reached != handshake.Started || e.Outcome.Fault != nil || e.Out != "" {
				t.Errorf("%+v, want status %d", e, status)
			}
		})
	}
}

// TestNotExecutable: what cannot be executed is a fault with a reason, and
// nothing of it is in the harness's output.
func TestNotExecutable(t *testing.T) {
	dir := t.TempDir()
	os.Chmod(dir, 0o755)
	os.Chmod(filepath.Dir(dir), 0o755)
	for name, content := range map[string]string{
		"bad-interpreter": "#!/no/such/interpreter\n", "crlf": "#!/bin/sh\r\necho\n", "text": "hello\n",
		"foreign-elf": "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\xf3\x00" + strings.Repeat("\x00", 60),
		"plain":       "x",
	} {
		mode := os.FileMode(0o755)
		if name == "plain" {
			mode = 0o644
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		program, detail string
		reached         handshake.Point
	}{
		{"no-such-program", "not found in the box's PATH", handshake.Ready},
		{"/no/such/file", "does not exist", handshake.Ready},
		{"/etc", "is a directory", handshake.Ready},
		{"/t/plain", "is not executable", handshake.Ready},
		{"/t/bad-interpreter", "/no/such/interpreter", handshake.ExecFailed},
		{"/t/crlf", `/bin/sh\r`, handshake.ExecFailed},
		{"/t/text", "neither a program nor a script", handshake.ExecFailed},
		{"/t/foreign-elf", "another processor", handshake.ExecFailed},
	}
	for _, tt := range tests {
		for _, tty := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s tty=%v", tt.program, tty), func(t *testing.T) {
				e := testBox{Run: command(tt.program), TTY: tty, Binds: []string{dir + ":/t:ro"}}.run(t)
				if e.Status != 127 || e.Outcome.Reached != tt.reached || e.Out != "" {
					t.Errorf("status %d, reached %v, output %q", e.Status, e.Outcome.Reached, e.Out)
				}
				f := e.Outcome.Fault
				if f == nil || f.Kind != exitstatus.HarnessNotExecutable || !strings.Contains(f.Detail, tt.detail) {
					t.Errorf("fault %+v, want one with %q", f, tt.detail)
				}
			})
		}
	}
}

// TestForgedMessages: a harness that imitates cage-init is passed on as data.
func TestForgedMessages(t *testing.T) {
	e := testBox{Run: sh(`printf '\001cage-init:X00112233445566778899aabbccddeeff0002{}'; exit 127`)}.run(t)
	if want := "\x01cage-init:X00112233445566778899aabbccddeeff0002{}"; e.Out != want || e.Status != 127 || e.Outcome.Fault != nil {
		t.Errorf("%+v, want the output %q", e, want)
	}
}

// TestStreams: bytes pass both ways unchanged, and each stream has its end.
func TestStreams(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	data := strings.Repeat(string(all), 4096)
	e := testBox{Run: sh("cat; echo err >&2"), Typed: data}.run(t)
	if e.Out != data || e.Err != "err\n" || e.Status != 0 {
		t.Errorf("status %d, %d bytes out, stderr %q", e.Status, len(e.Out), e.Err)
	}
	e = testBox{Run: command("wc", "-c"), Typed: "x"}.run(t)
	if strings.TrimSpace(e.Out) != "1" {
		t.Errorf("half-close: %+v", e)
	}
	e = testBox{Run: command("true"), Open: true}.run(t)
	if e.Status != 0 || e.Took > 10*time.Second {
		t.Errorf("a writer that stays open: %+v", e)
	}
}

// TestTerminal: the harness's terminal is as the engine made it, with the size
// of the run, and job control works in it.
func TestTerminal(t *testing.T) {
	b := testBox{TTY: true, Run: sh(`stty size; stty -a | tr ' ;' '\n\n' | grep -xE -- '-?(isig|icanon|echo|icrnl|opost|onlcr)' | tr '\n' ' '; tty; echo x >/dev/tty; cat`)}
	b.Run.Size = &handshake.Size{Rows: 33, Cols: 77}
	b.Typing = func(r *running) {
		r.waitFor("x\r\n")
		fmt.Fprint(r.conn, "line\r")
		r.waitFor("line\r\nline\r\n")
		fmt.Fprint(r.conn, "\x10\x10\x11\x04") // Ctrl-P, Ctrl-P Ctrl-Q, Ctrl-D
		fmt.Fprint(r.conn, "\r\x04")
	}
	e := b.run(t)
	if !strings.HasPrefix(e.Out, "33 77\r\n") || !strings.Contains(e.Out, "isig icanon icrnl opost onlcr echo") && !strings.Contains(e.Out, "icrnl opost onlcr isig icanon echo") {
		t.Errorf("terminal: %q", e.Out)
	}
	if e.Status != 0 {
		t.Errorf("status %d", e.Status)
	}
	e = testBox{TTY: true, Run: sh(`trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.1; done`), Typing: func(r *running) {
		r.waitFor("ready")
		fmt.Fprint(r.conn, "\x03")
	}}.run(t)
	if e.Status != 5 || !strings.Contains(e.Out, "caught") {
		t.Errorf("Ctrl-C: %+v", e)
	}
	// Job control of an interactive shell.
	e = testBox{TTY: true, Run: command("bash", "--norc", "-i"), Typing: func(r *running) {
		r.waitFor("$ ")
		fmt.Fprint(r.conn, "sleep 100\r")
		time.Sleep(300 * time.Millisecond)
		fmt.Fprint(r.conn, "\x1a")
		r.waitFor("Stopped")
		fmt.Fprint(r.conn, "kill %1; exit 6\r")
		time.Sleep(300 * time.Millisecond)
		fmt.Fprint(r.conn, "exit 6\r")
	}}.run(t)
	if e.Status != 6 || strings.Contains(e.Out, "no job control") {
		t.Errorf("job control: %+v", e)
	}
	// Typed as soon as the launcher may.
	e = testBox{TTY: true, Run: sh(`sleep 0.2; read a; echo "<$a>"`), Typed: "ahead\r"}.run(t)
	if !strings.Contains(e.Out, "<ahead>") {
		t.Errorf("type-ahead: %+v", e)
	}
}

// TestSignals: what PID 1 is sent, the harness gets.
func TestSignals(t *testing.T) {
	for _, sig := range []string{"INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "WINCH", "40"} {
		t.Run(sig, func(t *testing.T) {
			e := testBox{Run: sh(`trap 'echo caught; exit 4' ` + sig + `; echo ready; while :; do sleep 0.05; done`), Typing: func(r *running) {
				r.waitFor("ready")
				api(r.t, "POST", "/containers/"+r.id+"/kill?signal="+sig, nil)
			}}.run(t)
			if e.Status != 4 || e.Out != "ready\ncaught\n" {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestLifeline: the box ends with its launcher, whatever the harness does.
func TestLifeline(t *testing.T) {
	tests := []struct {
		name, command string
		from, to      time.Duration
		status        int
	}{
		{"nothing resists", "sleep 60", 0, 1500 * time.Millisecond, 143},
		{"TERM is ignored", "trap '' TERM; while :; do sleep 0.1; done", 1500 * time.Millisecond, 6 * time.Second, 137},
		{"everything is stopped", "trap '' TERM; (while :; do kill -STOP -1; done) & sleep 60", 0, 6 * time.Second, 137},
		{"forks without end", "trap '' TERM; while :; do (trap '' TERM; sleep 60) & sleep 0.01; done", 1500 * time.Millisecond, 6 * time.Second, 137},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, wait := testBox{Run: sh("echo ready; " + tt.command), NoLifeline: true}.start(t)
			r.waitFor("ready")
			r.hang()
			time.Sleep(300 * time.Millisecond)
			cut := time.Now()
			r.lifeline.CloseWrite()
			e := wait()
			if took := time.Since(cut); took < tt.from || took > tt.to || e.Status != tt.status {
				t.Errorf("gone after %v with status %d, want between %v and %v with %d", took, e.Status, tt.from, tt.to, tt.status)
			}
		})
	}
	t.Run("harness cannot forge or cut", func(t *testing.T) {
		e := testBox{NoLifeline: true, Run: sh(`/usr/local/libexec/agent-cage/cage-init lifeline </dev/null; kill -9 -1; echo survived; sleep 60`)}
		r, wait := e.start(t)
		r.hang()
		r.waitFor("survived")
		r.lifeline.Close()
		if got := wait(); got.Status != 143 || !strings.Contains(got.Err, "permission denied") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("none", func(t *testing.T) {
		for _, tty := range []bool{false, true} {
			e := testBox{Run: sh("trap '' TERM; sleep 60"), NoLifeline: true, Open: true, TTY: tty}.run(t)
			if e.Status != 137 || e.Took < 4*time.Second || e.Took > 8*time.Second {
				t.Errorf("tty=%v: gone after %v with status %d", tty, e.Took, e.Status)
			}
			e = testBox{Run: sh("true"), NoLifeline: true, NoFrame: true, TTY: tty}.run(t)
			if e.Status != 137 || e.Took < 4*time.Second || e.Took > 8*time.Second {
				t.Errorf("tty=%v, in the handshake: gone after %v with status %d", tty, e.Took, e.Status)
			}
		}
	})
}

// TestEngineSocketIsRefused mounts the real socket under several names.
func TestEngineSocketIsRefused(t *testing.T) {
	for _, bind := range []string{
		engineSocket + ":/var/run/docker.sock", engineSocket + ":/tmp/innocent", "/run:/host/run:ro",
	} {
		t.Run(bind, func(t *testing.T) {
			e := testBox{Run: sh("echo ran"), Binds: []string{bind}}.run(t)
			f := e.Outcome.Fault
			if e.Status != 126 || e.Out != "" || f == nil || !strings.HasPrefix(f.Detail, "FATAL: /") || !strings.HasSuffix(f.Detail, " is mounted from the host") {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestHostRoot: files of root are the harness's in the box and stay root's on
// the host, and what another user owns there is not handed over.
func TestHostRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has files of root to show")
	}
	dir := t.TempDir()
	project, state := filepath.Join(dir, "project"), filepath.Join(dir, "state")
	for _, d := range []string{project, state} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	mine, other := filepath.Join(project, "mine"), filepath.Join(project, "other")
	for path, owner := range map[string]int{mine: 0, other: 1000} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	b := testBox{Run: sh(`
		cat mine; echo y >>mine; echo z >new; echo s >~/.claude/s; mkdir ~/.config && echo config
		cat other 2>/dev/null && echo other is open
		stat -c %u:%g . mine other new ~/.claude ~ ~/src
		echo w 2>/dev/null >/ro/f || echo read-only; stat -c %u /ro
		umount "$PWD" 2>/dev/null && echo umounts
		grep -E 'CapBnd|CapPrm' /proc/1/status`)}
	b.Run.Dir = "/root/src/project"
	b.Run.Plan.User = plan.User{Name: "root", Home: "/root", UID: 1000, GID: 1000}
	b.Run.Plan.Mounts = []plan.Mount{
		{Source: project, Target: "/root/src/project", Idmap: &plan.Owner{}},
		{Source: state, Target: "/root/.claude", Idmap: &plan.Owner{}},
		{Source: state, Target: "/ro", ReadOnly: true, Idmap: &plan.Owner{}},
	}
	e := b.run(t)
	want := "xconfig\n1000:1000\n1000:1000\n2147483632:2147483632\n1000:1000\n1000:1000\n1000:1000\n1000:1000\n" +
		"read-only\n1000\nCapPrm:\t00000000800000c1\nCapBnd:\t00000000800000c1\n"
	if e.Out != want || e.Status != 0 {
		t.Errorf("status %d, fault %v, stderr %q, output\n%s\nwant\n%s", e.Status, e.Outcome.Fault, e.Err, e.Out, want)
	}
	for _, path := range []string{mine, filepath.Join(project, "new"), filepath.Join(state, "s")} {
		if uid, gid := owner(t, path); uid != 0 || gid != 0 {
			t.Errorf("%s is owned by %d:%d on the host", path, uid, gid)
		}
	}
}

// TestStateOfAnother: the state directory alone is shown as the harness's, where
// the harness is whom --user names.
func TestStateOfAnother(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can have directories of two users")
	}
	dir := t.TempDir()
	project, state := filepath.Join(dir, "project"), filepath.Join(dir, "state")
	for d, owner := range map[string]int{project: 1234, state: 0} {
		if err := errors.Join(os.Mkdir(d, 0o700), os.Chown(d, owner, owner)); err != nil {
			t.Fatal(err)
		}
	}
	b := testBox{Run: sh(`stat -c %u:%g . ~/.claude; touch new ~/.claude/new; grep CapBnd /proc/self/status`)}
	b.Run.Dir = "/project"
	b.Run.Plan.User = plan.User{Name: "zoe", Home: "/home/zoe", UID: 1234, GID: 1234, HostUID: 1234, HostGID: 1234}
	b.Run.Plan.Mounts = []plan.Mount{
		{Source: project, Target: "/project"},
		{Source: state, Target: "/home/zoe/.claude", Idmap: &plan.Owner{}},
	}
	e := b.run(t)
	if want := "1234:1234\n1234:1234\nCapBnd:\t0000000000000000\n"; e.Out != want || e.Status != 0 {
		t.Errorf("status %d, fault %v, stderr %q, output %q, want %q", e.Status, e.Outcome.Fault, e.Err, e.Out, want)
	}
	for path, want := range map[string]uint32{project: 1234, state: 0} {
		if uid, gid := owner(t, filepath.Join(path, "new")); uid != want || gid != want {
			t.Errorf("%s/new is owned by %d:%d on the host", path, uid, gid)
		}
	}
}

// TestIdmapUnsupported: a file system that cannot be idmapped is named.
func TestIdmapUnsupported(t *testing.T) {
	b := testBox{Run: sh("echo ran")}
	b.Run.Plan.User = plan.User{Name: "root", Home: "/root", UID: 1000, GID: 1000}
	b.Run.Plan.Mounts = []plan.Mount{{Source: "/sys/kernel", Target: "/project", Idmap: &plan.Owner{}}}
	e := b.run(t)
	f := e.Outcome.Fault
	if e.Status != 126 || f == nil || !strings.Contains(f.Detail, "sysfs") || !strings.Contains(f.Detail, "--user") || !strings.Contains(f.Detail, "kernel ") {
		t.Errorf("%+v", e)
	}
	// With --user, only what is not that user's stands in the way.
	b.Run.Plan.User.HostUID, b.Run.Plan.User.HostGID = 1000, 1000
	e = b.run(t)
	if f := e.Outcome.Fault; e.Status != 126 || f == nil || !strings.Contains(f.Detail, "chown -R 1000:1000") {
		t.Errorf("%+v", e)
	}
}

// TestFiles: files of the run arrive with owner and mode, and leave no trace
// in the container's layer when they are in memory.
func TestFiles(t *testing.T) {
	b := testBox{Run: sh(`cd /run/agent-cage; stat -c '%n %U %a' x/secret root; cat x/secret; stat -c '%n %U %a' ~/.ssh ~/.ssh/config ~/.gitconfig`)}
	b.Run.Files = []handshake.File{
		{Path: "/run/agent-cage/x/secret", Mode: 0o600, Owner: handshake.Harness, Content: "s3cret\n"},
		{Path: "/run/agent-cage/root", Mode: 0o644, Owner: handshake.Root},
		{Path: "/home/zoe/.ssh/config", Mode: 0o600, Owner: handshake.Harness},
		{Path: "/home/zoe/.gitconfig", Mode: 0o644, Owner: handshake.Harness},
	}
	r, wait := b.start(t)
	e := wait()
	want := "x/secret zoe 600\nroot root 644\ns3cret\n/home/zoe/.ssh zoe 700\n/home/zoe/.ssh/config zoe 600\n/home/zoe/.gitconfig zoe 644\n"
	if e.Out != want || e.Status != 0 {
		t.Errorf("status %d, fault %v, stderr %q, output\n%s", e.Status, e.Outcome.Fault, e.Err, e.Out)
	}
	if _, diff := api(t, "GET", "/containers/"+r.id+"/changes", nil); strings.Contains(string(diff), "secret") {
		t.Errorf("docker diff: %s", diff)
	}
	for _, path := range []string{"/etc/evil", "/home/zoe/../../etc/evil", "relative", "/run/agent-cage"} {
		b.Run.Files = []handshake.File{{Path: path, Owner: handshake.Harness}}
		if e := b.run(t); e.Status != 126 || e.Outcome.Fault == nil {
			t.Errorf("%s: %+v", path, e)
		}
	}
}

// TestTrust: the certificates of the run are trusted, and in memory only.
func TestTrust(t *testing.T) {
	b := testBox{Run: sh(`grep -c ZXh0cmE= "$SSL_CERT_FILE" "$NODE_EXTRA_CA_CERTS" /etc/ssl/certs/ca-certificates.crt; stat -fc %T "$SSL_CERT_FILE"`)}
	b.Run.CABundle = "-----BEGIN CERTIFICATE-----\nZXh0cmE=\n-----END CERTIFICATE-----\n"
	e := b.run(t)
	want := "/run/agent-cage/ca-certificates.crt:1\n/run/agent-cage/ca-extra.crt:1\n/etc/ssl/certs/ca-certificates.crt:1\ntmpfs\n"
	if e.Out != want {
		t.Errorf("%+v", e)
	}
}

// TestNotRoot: a harness that would be root is refused.
func TestNotRoot(t *testing.T) {
	b := testBox{Run: sh("id")}
	b.Run.Plan.User.UID = 0
	if e := b.run(t); e.Status != 126 || e.Out != "" || e.Outcome.Fault == nil {
		t.Errorf("%+v", e)
	}
}

// TestForeignEntrypoint: an image without cage-init is told apart.
func TestForeignEntrypoint(t *testing.T) {
	e := testBox{Entrypoint: []string{"echo", "hello"}, NoLifeline: true}.run(t)
	if f := e.Outcome.Fault; f == nil || !strings.Contains(f.Detail, "hello") || e.Out != "" {
		t.Errorf("%+v", e)
	}
}
