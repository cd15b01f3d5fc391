package lifecycle

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestThisHost(t *testing.T) {
	host, err := ThisHost()
	if err != nil {
		t.Fatal(err)
	}
	if got := host.Judge(host.Self, true, time.Now()); got != Alive {
		t.Errorf("this process is %s", got)
	}
	if id := machineID(); id != "" && (host.Self.Machine == "" || host.Self.Machine == id) {
		t.Errorf("machine %q of id %q: want a hash of it", host.Self.Machine, id)
	}
	if age := time.Since(host.BootTime); age <= 0 || age > 10*365*24*time.Hour {
		t.Errorf("booted at %v", host.BootTime)
	}
}

// A launcher is judged in each state that a process can be in.
func TestProcessesOfThisHost(t *testing.T) {
	host, err := ThisHost()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	launcher := host.Self
	launcher.PID = child.Process.Pid
	if launcher.Start, err = host.StartOf(launcher.PID); err != nil {
		t.Fatal(err)
	}
	expect := func(state string, want Verdict) {
		t.Helper()
		if got := host.Judge(launcher, true, time.Now()); got != want {
			t.Errorf("%s: got %s, want %s", state, got, want)
		}
	}
	expect("running", Alive)
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitState(t, launcher.PID, "T")
	expect("stopped", Alive)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitState(t, launcher.PID, "Z")
	expect("killed, not waited for", Dead)
	child.Wait()
	expect("gone", Dead)
}

func waitState(t *testing.T, pid int, want string) {
	t.Helper()
	for range 500 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(stat, []byte(") "+want+" ")) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("process %d does not get into state %s", pid, want)
}

func TestParseStat(t *testing.T) {
	const rest = " 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 2000 1 18446744073709551615"
	for stat, want := range map[string]string{
		"1 (claude-box) S" + rest:         "777",
		"1 (a b) Z 2) S" + rest:           "777", // a name may hold anything
		"1 (claude-box) T" + rest:         "777",
		"1 (claude-box) Z" + rest:         "no process",
		"1 (claude-box) X" + rest:         "no process",
		"1 (claude-box) S 1 1":            "error",
		"":                                "error",
		"1 claude-box S" + rest + " (x Z": "error",
	} {
		got, err := parseStat([]byte(stat))
		switch {
		case errors.Is(err, ErrNoProcess):
			got = "no process"
		case err != nil:
			got = "error"
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", stat, got, want)
		}
	}
}
