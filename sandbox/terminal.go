//go:build linux

package sandbox

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

// foreground is the process group that the terminal belongs to; 0 without one.
func (j *job) foreground() int {
	if j.tty == nil {
		return 0
	}
	pgrp, err := unix.IoctlGetInt(int(j.tty.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return pgrp
}

// setForeground gives the terminal to a group. The caller may be in the
// background, which would stop it for asking.
func (j *job) setForeground(pgrp int) error {
	var block, old unix.Sigset_t
	block.Val[0] = 1 << (uint(unix.SIGTTOU) - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &block, &old); err != nil {
		return err
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	return unix.IoctlSetPointerInt(int(j.tty.Fd()), unix.TIOCSPGRP, pgrp)
}

// grant gives the terminal to the job if it is this process's to give.
func (j *job) grant() bool {
	if j.tty == nil || j.foreground() != unix.Getpgrp() {
		return false
	}
	if j.setForeground(j.pid) != nil {
		return false
	}
	j.mu.Lock()
	j.granted = true
	j.mu.Unlock()
	return true
}

func (j *job) isGranted() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.granted
}

// takeBack returns the terminal to this process's group.
func (j *job) takeBack() {
	if !j.isGranted() {
		return
	}
	j.mu.Lock()
	j.granted = false
	j.mu.Unlock()
	_ = j.setForeground(unix.Getpgrp())
}

// stopped follows the job into a stop. A job that stopped because it wants
// the terminal gets it, if it is there to give; otherwise this process stops
// as the job did, and takes it up again when the shell continues it.
func (j *job) stopped(sig syscall.Signal) {
	if (sig == unix.SIGTTIN || sig == unix.SIGTTOU) && (j.grant() || j.isGranted() && j.foreground() == j.pid) {
		unix.Kill(-j.pid, unix.SIGCONT)
		return
	}
	had := j.isGranted()
	if had {
		j.takeBack()
	}
	if sig != unix.SIGTTIN && sig != unix.SIGTTOU {
		sig = unix.SIGTSTP
	}
	// Whether a stop has an effect here is the kernel's to decide: in a
	// group that nobody could continue, it has none.
	byDefault(unix.SIGTSTP, func() {
		if had {
			// The terminal stopped the job alone; the rest of the caller's
			// pipeline belongs to the same key press.
			_ = unix.Kill(0, sig)
		} else {
			_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), sig)
		}
	})
	if had && j.foreground() == unix.Getpgrp() {
		j.grant()
	}
	unix.Kill(-j.pid, unix.SIGCONT)
}

// sigaction is the kernel's structure on the supported architectures.
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

// byDefault runs f while the signal has its default action. signal.Reset does
// not bring back that of a signal that stops: the runtime keeps its handler.
func byDefault(sig syscall.Signal, f func()) {
	var def, old sigaction
	if setAction(sig, &def, &old) != nil {
		return
	}
	f()
	_ = setAction(sig, &old, nil)
}

func setAction(sig syscall.Signal, act, old *sigaction) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(act)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
