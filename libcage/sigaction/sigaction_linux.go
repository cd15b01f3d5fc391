// Package sigaction reads and sets what the kernel does about a signal, behind
// the back of the runtime: os/signal has a handler that ignores where it says
// to restore the default, and leaves the C library's own signals alone.
package sigaction

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// setBytes is the size of the kernel's signal set.
const setBytes = 8

// Ignored is the Handler of a signal that is ignored.
const Ignored = 1

// Action is the kernel's struct sigaction, large enough for every
// architecture: the handler comes first in all of them. The zero Action is the
// default one.
type Action struct {
	Handler uintptr
	rest    [15]uintptr
}

// Get returns a signal's action.
func Get(sig unix.Signal) (Action, error) {
	var now Action
	err := call(sig, nil, &now)
	return now, err
}

// Set sets a signal's action. One that is not the default must be of Get.
func Set(sig unix.Signal, a Action) error { return call(sig, &a, nil) }

func call(sig unix.Signal, fresh, now *Action) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(fresh)), uintptr(unsafe.Pointer(now)), setBytes, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
