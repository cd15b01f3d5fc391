package boxinit

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// lastSignal is the highest signal that the kernel has.
	lastSignal = 64
	// signalSetBytes is the size of the kernel's signal set.
	signalSetBytes = 8
	// ignored is SIG_IGN.
	ignored = 1
)

// sigaction is the kernel's, large enough for every architecture: the handler
// comes first in all of them.
type sigaction struct {
	handler uintptr
	rest    [15]uintptr
}

// defaultIgnored gives signals that are ignored their default action again.
// What is ignored is inherited through execve, from the engine's own parents
// too, and the runtime leaves the C library's own signals alone. Handlers need
// nothing: they end with execve.
func defaultIgnored() error {
	for sig := uintptr(1); sig <= lastSignal; sig++ {
		var now, fresh sigaction
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&now)), signalSetBytes, 0, 0)
		if errno != 0 || now.handler != ignored {
			continue
		}
		if err := rawErr(unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&fresh)), 0, signalSetBytes, 0, 0)); err != nil {
			return err
		}
	}
	return nil
}
