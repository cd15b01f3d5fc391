package terminal

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/sigaction"
)

// Stop stops this process as SIGTSTP does one that does not catch it, and
// returns when it goes on. An orphaned process group is not stopped: nobody
// would let it go on.
func Stop() error {
	// Sent to this thread, the signal takes effect before the call returns.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	caught, err := sigaction.Get(unix.SIGTSTP)
	if err == nil {
		err = sigaction.Set(unix.SIGTSTP, sigaction.Action{})
	}
	if err != nil {
		return os.NewSyscallError("sigaction", err)
	}
	err = os.NewSyscallError("tgkill", unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGTSTP))
	return errors.Join(err, os.NewSyscallError("sigaction", sigaction.Set(unix.SIGTSTP, caught)))
}
