package boxinit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

// harnessFile says who the harness is: its pid and NUL, then its spec. It is
// memory, and as it holds the environment, for root alone.
const harnessFile = needs.RunDir + "/harness"

// noteHarness tells later commands whom they are to equal.
func noteHarness(path string, pid int, s spec) error {
	note := append([]byte(strconv.Itoa(pid)+"\x00"), s.encode()...)
	if err := os.WriteFile(path, note, 0o600); err != nil {
		return fmt.Errorf("who the harness is: %w", err)
	}
	return nil
}

func readHarness(path string) (pid int, s spec, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, spec{}, errors.New("the harness does not run yet")
	}
	if err != nil {
		return 0, spec{}, err
	}
	defer f.Close()
	text, err := readField(f)
	if err != nil {
		return 0, spec{}, err
	}
	if pid, err = strconv.Atoi(text); err != nil {
		return 0, spec{}, errSpec
	}
	s, err = readSpec(f)
	return pid, s, err
}

// execute is the command cage-init exec: it runs argv as the harness is, in
// the harness's user namespace, with its user, environment and directory. It
// is started by the engine, as the box's root, and returns the command's
// status.
func execute(argv []string, stderr io.Writer) int {
	pid, s, err := readHarness(harnessFile)
	if err != nil {
		fmt.Fprintf(stderr, "cage-init: %v\n", err)
		return exitstatus.EngineStartFailed.Status()
	}
	s.Argv = argv
	// Before there is a child: a key of the terminal must not end this process
	// and leave the child's status unread.
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, forwarded()...)
	child, err := joinHarness(pid, s)
	if err != nil {
		fmt.Fprintf(stderr, "cage-init: %v\n", err)
		return exitstatus.EngineStartFailed.Status()
	}
	return waitFor(child, signals)
}

// joinHarness starts the process that becomes the command.
func joinHarness(harness int, s spec) (pid int, err error) {
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", harness))
	if err != nil {
		return 0, fmt.Errorf("the harness's user namespace: %w", err)
	}
	defer namespace.Close()
	if err := giveStreams(s.Owner); err != nil {
		return 0, err
	}
	if err := copyFileLimit(harness); err != nil {
		return 0, fmt.Errorf("the harness's limit of open files: %w", err)
	}
	ordersOut, orders, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer ordersOut.Close()
	defer orders.Close()
	pid, err = forkInto(int(namespace.Fd()), int(ordersOut.Fd()))
	if err != nil {
		return 0, fmt.Errorf("a process in the harness's user namespace: %w", err)
	}
	ordersOut.Close()
	if err := dropCapabilities(); err != nil {
		return 0, err
	}
	if _, err := orders.Write(s.encode()); err != nil {
		return 0, fmt.Errorf("the harness's user namespace cannot be entered: %w", err)
	}
	return pid, nil
}

// copyFileLimit undoes what Go's runtime has done to the limit of this process.
func copyFileLimit(of int) error {
	var limit unix.Rlimit
	if err := unix.Prlimit(of, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		return err
	}
	return unix.Prlimit(0, unix.RLIMIT_NOFILE, &limit, nil)
}

// waitFor passes signals on and returns the status of the child's end.
func waitFor(pid int, signals <-chan os.Signal) int {
	go func() {
		for sig := range signals {
			// Those of a terminal reach the child's group by themselves.
			if sig != unix.SIGINT && sig != unix.SIGQUIT && sig != unix.SIGWINCH {
				unix.Kill(pid, sig.(syscall.Signal))
			}
		}
	}()
	for {
		var ws unix.WaitStatus
		_, err := unix.Wait4(pid, &ws, 0, nil)
		if err == nil {
			return statusOf(ws)
		}
		if err != unix.EINTR {
			return exitstatus.EngineStartFailed.Status()
		}
	}
}

// enteredMain is the program of that process: the root of the harness's user
// namespace, until it is the harness's equal.
func enteredMain(stderr io.Writer) int {
	runtime.LockOSThread()
	unix.CloseOnExec(ordersFd)
	s, err := readSpec(os.NewFile(ordersFd, "orders"))
	if err != nil {
		fmt.Fprintf(stderr, "cage-init: %v\n", err)
		return exitstatus.EngineStartFailed.Status()
	}
	path, fault := become(s)
	if fault == nil {
		fault = explainExec(path, syscall.Exec(path, s.Argv, s.Env))
	}
	fmt.Fprintf(stderr, "cage-init: %s\n", strings.TrimSpace(fault.Error()))
	return fault.Kind.Status()
}
