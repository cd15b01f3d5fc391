package boxinit

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

// The descriptors of a stage besides the harness's three.
const (
	ordersFd  = 3
	reportsFd = 4
)

// stageMain is the stage's program. It starts as the root of its user
// namespace, with every capability there, so what it does before it drops them
// is kept small.
func stageMain() int {
	// What is dropped is dropped for this thread, and execve keeps this one.
	runtime.LockOSThread()
	unix.CloseOnExec(ordersFd)
	unix.CloseOnExec(reportsFd)
	orders, reports := os.NewFile(ordersFd, "orders"), os.NewFile(reportsFd, "reports")

	s, err := readSpec(orders)
	if err != nil {
		return tell(reports, exitstatus.AsFault(exitstatus.EngineStartFailed, err))
	}
	path, fault := become(s)
	if fault != nil {
		return tell(reports, fault)
	}
	if _, err := reports.Write([]byte{stagePrepared}); err != nil {
		return 1
	}
	var order [1]byte
	if _, err := io.ReadFull(orders, order[:]); err != nil {
		return 1
	}
	err = syscall.Exec(path, s.Argv, s.Env)
	return tell(reports, explainExec(path, err))
}

func tell(reports io.Writer, f *exitstatus.Fault) int {
	fmt.Fprintf(reports, "%c%s\x00%s", stageFailed, f.Kind, f.Error())
	return f.Kind.Status()
}

// become gives everything up that the harness must not have and returns the
// program to execute.
func become(s spec) (string, *exitstatus.Fault) {
	uid, gid := uintptr(s.UID), uintptr(s.GID)
	steps := []struct {
		what string
		do   func() error
	}{
		// A new user namespace starts with a full bounding set.
		{"bounding set", dropBounding},
		{"groups", func() error { return setgroups(s.GID) }},
		{"group", func() error { return rawErr(unix.RawSyscall(unix.SYS_SETRESGID, gid, gid, gid)) }},
		{"user", func() error { return rawErr(unix.RawSyscall(unix.SYS_SETRESUID, uid, uid, uid)) }},
		{"capabilities", dropCapabilities},
		{"no_new_privs", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"descriptors", closeOnExecFrom3},
		{"signals", defaultIgnored},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return "", exitstatus.Faultf(exitstatus.EngineStartFailed, "hardening the harness: %s: %w", step.what, err)
		}
	}
	unix.Umask(0o022)
	if err := unix.Chdir(s.Dir); err != nil {
		return "", exitstatus.Faultf(exitstatus.EngineStartFailed, "the harness cannot enter %s: %w", s.Dir, err)
	}
	return lookPath(s.Argv[0], s.Env)
}

// closeOnExecFrom3 is a second net: whatever is open here was opened to be
// closed on exec. Kernels before 5.11 do not have the call.
func closeOnExecFrom3() error {
	err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
	if err == unix.ENOSYS || err == unix.EINVAL {
		return nil
	}
	return err
}

func rawErr(_, _ uintptr, errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}
