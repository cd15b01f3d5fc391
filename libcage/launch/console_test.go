package launch

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/terminal"
)

// crasher is the variable that makes the test's program one with a console
// which ends as its value says.
const crasher = "AGENT_CAGE_TEST_CRASH"

func TestMain(m *testing.M) {
	how := os.Getenv(crasher)
	if how == "" {
		os.Exit(m.Run())
	}
	c, err := newConsole(os.Stdin, os.Stdout, &lines{w: os.Stderr}, "xterm", "title")
	if err == nil {
		err = c.handOver()
	}
	if err == nil {
		_, err = io.WriteString(c, "\x1b[?1049hready")
	}
	if err != nil {
		panic(err)
	}
	switch how {
	case "goroutine":
		go c.guard(func() { panic("in a goroutine") })
	case "unguarded":
		go panic("in a goroutine of nobody's")
	case "abort":
		_ = syscall.Kill(os.Getpid(), syscall.SIGABRT)
	}
	time.Sleep(time.Minute)
}

// TestCrashes: what ends the process without a deferred function of main
// leaves the terminal as it was found.
func TestCrashes(t *testing.T) {
	tests := []struct {
		how      string
		restored bool
		say      string
	}{
		{"goroutine", true, "panic: in a goroutine\r\n"},
		{"abort", true, "SIGABRT: abort\r\n"},
		// What the test sees where nothing is done about it.
		{"unguarded", false, "panic: in a goroutine of nobody's\n"},
	}
	for _, tt := range tests {
		t.Run(tt.how, func(t *testing.T) {
			master, slave, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer master.Close()
			defer slave.Close()
			before := termios(t, slave)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), crasher+"="+tt.how)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
			var out output
			go func() { _, _ = io.Copy(&out, master) }()
			if err := cmd.Run(); err == nil {
				t.Error("it ended well")
			}
			after := termios(t, slave)
			if got := reflect.DeepEqual(before, after); got != tt.restored {
				t.Errorf("modes restored: %v, want %v", got, tt.restored)
			}
			want := "\x1b[?1049hready"
			if tt.restored {
				want += "\x1b[?1049l" + terminal.RestoreTitle("xterm")
			}
			out.await(t, want+tt.say)
		})
	}
}

func termios(t *testing.T, f *os.File) *unix.Termios {
	t.Helper()
	var m *unix.Termios
	conn, err := f.SyscallConn()
	if err == nil {
		err = conn.Control(func(fd uintptr) { m, err = unix.IoctlGetTermios(int(fd), getTermios) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// output is what a terminal has shown so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *output) await(t *testing.T, want string) {
	t.Helper()
	for range 500 {
		if strings.Contains(o.String(), want) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("got %q, want %q in it", o.String(), want)
}
