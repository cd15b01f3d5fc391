package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// Stop stops this process, and returns when it goes on. The runtime has no way
// back to the default action of SIGTSTP, so the signal is SIGSTOP, which also
// stops an orphaned process group: one whose leader's parent is of another
// session is not stopped, since nobody would let it go on.
func Stop() error {
	mine, err := unix.Getsid(0)
	if err != nil {
		return os.NewSyscallError("getsid", err)
	}
	if parents, err := unix.Getsid(unix.Getppid()); err != nil || parents != mine {
		return nil
	}
	return os.NewSyscallError("kill", unix.Kill(unix.Getpid(), unix.SIGSTOP))
}
