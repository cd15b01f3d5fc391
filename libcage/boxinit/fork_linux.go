package boxinit

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forkInto starts this program as enteredName in an existing user namespace,
// with the descriptor orders as its ordersFd. Only a process of one thread may
// enter one, which a program in Go never is, and the standard library forks
// into new ones only: so the fork is made here. Between it and execve the child
// makes system calls and nothing else, since the threads that Go's runtime
// needs are not in it.
func forkInto(namespace, orders int) (pid int, err error) {
	path := append([]byte(self), 0)
	name := append([]byte(enteredName), 0)
	argv := []*byte{&name[0], nil}
	env := []*byte{nil}
	header, sets := capHeader(), new(capset)
	headerPtr, setsPtr := uintptr(unsafe.Pointer(header)), uintptr(unsafe.Pointer(&sets[0]))
	caps := stageCaps()
	pathPtr, argvPtr, envPtr := uintptr(unsafe.Pointer(&path[0])), uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0]))

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	syscall.ForkLock.Lock()
	defer syscall.ForkLock.Unlock()
	id, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno == 0 && id == 0 {
		_, _, errno = syscall.RawSyscall(unix.SYS_SETNS, uintptr(namespace), unix.CLONE_NEWUSER, 0)
		if errno == 0 {
			_, _, errno = syscall.RawSyscall(unix.SYS_DUP3, uintptr(orders), ordersFd, 0)
		}
		if errno == 0 {
			_, _, errno = syscall.RawSyscall(unix.SYS_CAPGET, headerPtr, setsPtr, 0)
		}
		if errno == 0 {
			for i := range sets {
				sets[i].Inheritable = 0
			}
			for _, c := range caps {
				sets[0].Inheritable |= 1 << c
			}
			_, _, errno = syscall.RawSyscall(unix.SYS_CAPSET, headerPtr, setsPtr, 0)
		}
		for _, c := range caps {
			if errno == 0 {
				_, _, errno = syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, c, 0, 0, 0)
			}
		}
		if errno == 0 {
			_, _, errno = syscall.RawSyscall(unix.SYS_EXECVE, pathPtr, argvPtr, envPtr)
		}
		for {
			_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
		}
	}
	runtime.KeepAlive(header)
	runtime.KeepAlive(sets)
	runtime.KeepAlive(path)
	runtime.KeepAlive(name)
	runtime.KeepAlive(argv)
	runtime.KeepAlive(env)
	if errno != 0 {
		return 0, errno
	}
	return int(id), nil
}
