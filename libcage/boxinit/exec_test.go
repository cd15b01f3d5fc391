//go:build linux

package boxinit_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
)

// executed is a command that was run in a box.
type executed struct {
	Out, Err string
	Status   int
}

// exec runs a command as cage exec does.
func (r *running) exec(input string, argv ...string) executed {
	return r.execTyping("", input, false, argv)
}

// execOnTerminal types the input when the command has printed after.
func (r *running) execOnTerminal(after, input string, argv ...string) executed {
	return r.execTyping(after, input, true, argv)
}

func (r *running) execTyping(after, input string, tty bool, argv []string) executed {
	r.t.Helper()
	status, body := api(r.t, "POST", "/containers/"+r.id+"/exec", map[string]any{
		"AttachStdin": true, "AttachStdout": true, "AttachStderr": true, "Tty": tty, "User": "0:0",
		"Cmd": needs.Exec("mark", argv),
	})
	if status != http.StatusCreated {
		r.t.Fatalf("exec: %d %s", status, body)
	}
	var created struct {
		ID string `json:"Id"`
	}
	if err := json.Unmarshal(body, &created); err != nil {
		r.t.Fatal(err)
	}
	start := `{"Detach":false,"Tty":false}`
	if tty {
		start = `{"Detach":false,"Tty":true}`
	}
	conn := hijack(r.t, "/exec/"+created.ID+"/start", start)
	defer conn.Close()
	command := &running{t: r.t}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		if tty {
			io.Copy(&command.out, conn.r)
		} else {
			demux(conn.r, &command.out, &command.err)
		}
	}()
	command.waitFor(after)
	if _, err := io.WriteString(conn, input); err != nil {
		r.t.Fatal(err)
	}
	if !tty {
		conn.CloseWrite()
	}
	<-copied
	_, body = api(r.t, "GET", "/exec/"+created.ID+"/json", nil)
	var state struct {
		Running  bool
		ExitCode int
	}
	if err := json.Unmarshal(body, &state); err != nil || state.Running {
		r.t.Fatalf("%v: %s", err, body)
	}
	return executed{command.out.String(), command.err.String(), state.ExitCode}
}

// describe is what makes a process the harness's equal or more than that.
const describe = `
	grep -E '^(Cap|NoNewPrivs|Groups|Umask|Uid|Gid|SigBlk|SigIgn|Seccomp:)' /proc/self/status
	for n in user pid mnt net ipc uts cgroup; do echo $n $(readlink /proc/self/ns/$n); done
	pwd; ulimit -n; env | grep -vE '^(_|SHLVL|OLDPWD)=' | sort
	{ echo x >/proc/sys/kernel/core_pattern && echo writes core_pattern; } 2>/dev/null
	cat /run/agent-cage/harness /proc/1/environ /proc/1/mem >/dev/null 2>&1 && echo reads what is root\'s
	true
`

// TestExecIsTheHarnessesEqual compares a command with the harness itself.
func TestExecIsTheHarnessesEqual(t *testing.T) {
	b := testBox{Run: sh("{" + describe + "}; echo END; sleep 60")}
	b.Run.Env = []string{"TOKEN=of the run", "LINES=a\nb"}
	b.Run.Dir = "/usr/share"
	r, _ := b.start(t)
	r.hang()
	r.waitFor("END\n")
	want := strings.TrimSuffix(r.out.String(), "END\n")
	for _, needed := range []string{"CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Uid:\t1000\t1000\t1000\t1000", "TOKEN=of the run", "/usr/share\n"} {
		if !strings.Contains(want, needed) {
			t.Fatalf("the harness lacks %q: %s", needed, want)
		}
	}
	got := r.exec("", "sh", "-c", describe)
	if got.Out != want || got.Err != "" || got.Status != 0 {
		t.Errorf("status %d, stderr %q\ngot:\n%s\nwant:\n%s", got.Status, got.Err, got.Out, want)
	}
	// It may do to the harness what the harness may do to itself, and no more.
	got = r.exec("", "sh", "-c", `
		kill -0 1 2>/dev/null && echo signals PID 1
		for p in /proc/[0-9]*; do
			[ "$(readlink $p/ns/user 2>/dev/null)" = "$(readlink /proc/self/ns/user)" ] && tr '\0' ' ' <$p/cmdline && echo
		done | grep -c '^sleep 60'`)
	if got.Out != "1\n" {
		t.Errorf("the harness and PID 1 from a command: %+v", got)
	}
}

func TestExecStatusAndStreams(t *testing.T) {
	r, _ := testBox{Run: sh("echo END; sleep 60")}.start(t)
	r.hang()
	r.waitFor("END\n")
	tests := []struct {
		name  string
		input string
		argv  []string
		want  executed
	}{
		{"status", "", []string{"sh", "-c", "exit 126"}, executed{Status: 126}},
		{"signal", "", []string{"sh", "-c", "kill -SEGV $$"}, executed{Status: 139}},
		{"streams", "in\x00\xff", []string{"sh", "-c", "cat; echo err >&2"}, executed{"in\x00\xff", "err\n", 0}},
		{"arguments", "", []string{"printf", "<%s>", "", "a b", "--", "é\n"}, executed{Out: "<><a b><--><é\n>"}},
		{"descriptors", "", []string{"sh", "-c", "ls /proc/self/fd | wc -w; echo named >/dev/stdout"}, executed{Out: "4\nnamed\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r.t = t
			if got := r.exec(tt.input, tt.argv...); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	r.t = t
	if got := r.exec("", "no-such-program"); got.Status != 127 || !strings.Contains(got.Err, "not found") || strings.Count(got.Err, "\n") != 1 {
		t.Errorf("not found: %+v", got)
	}
	got := r.execOnTerminal("$ ", "stty size; tty; echo x >/dev/tty; exit 7\r", "bash", "--norc", "-i")
	if got.Status != 7 || !strings.Contains(got.Out, "/dev/pts/") || !strings.Contains(got.Out, "\r\nx\r\n") || strings.Contains(got.Out, "no job control") {
		t.Errorf("terminal: %+v", got)
	}
	got = r.execOnTerminal("ready", "\x03", "sh", "-c", "trap 'exit 9' INT; echo ready; while :; do sleep 0.1; done")
	if got.Status != 9 {
		t.Errorf("Ctrl-C: %+v", got)
	}
}

// A box whose harness does not run has nobody to be the equal of.
func TestExecBeforeTheHarness(t *testing.T) {
	r, _ := testBox{NoFrame: true, Run: sh("true")}.start(t)
	if got := r.exec("", "id"); got.Status != 126 || !strings.Contains(got.Err, "does not run yet") || got.Out != "" {
		t.Errorf("%+v", got)
	}
}
