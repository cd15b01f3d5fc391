package boxinit

import (
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// capset is the two words of a capability set in the kernel's third version.
type capset [2]unix.CapUserData

func capHeader() *unix.CapUserHeader {
	return &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
}

// stageCaps are what a process keeps of its new user namespace for becoming the
// harness. That it is the root there, who keeps all of them over execve, cannot
// be relied on: where the box's root is the harness, nobody is.
func stageCaps() []uintptr {
	return []uintptr{unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_SETPCAP}
}

// dropCapabilities empties the calling thread's sets, which stand for the
// process when no other thread acts.
func dropCapabilities() error {
	var none capset
	return unix.Capset(capHeader(), &none[0])
}

// dropBounding empties the calling thread's bounding set. It takes SETPCAP.
func dropBounding() error {
	for c := uintptr(0); ; c++ {
		// The kernel says EINVAL after the last capability that it knows.
		_, _, errno := unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0, 0, 0, 0)
		if errno == unix.EINVAL && c > 0 {
			return nil
		}
		if errno != 0 {
			return errno
		}
	}
}

// forgo takes capabilities away from every thread of the process, and from
// what it executes; that it could execute something which has one of its own
// stays, for those that are kept.
func forgo(kept []uintptr, caps ...uintptr) error {
	var sets capset
	if err := unix.Capget(capHeader(), &sets[0]); err != nil {
		return err
	}
	for _, c := range caps {
		if !slices.Contains(kept, c) {
			if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0); errno != 0 {
				return errno
			}
		}
		word, bit := c/32, uint32(1)<<(c%32)
		sets[word].Effective &^= bit
		sets[word].Permitted &^= bit
		sets[word].Inheritable &^= bit
	}
	return capsetAllThreads(&sets)
}

// capsetAllThreads sets the capabilities of every thread.
func capsetAllThreads(sets *capset) error {
	header := capHeader()
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET,
		uintptr(unsafe.Pointer(header)), uintptr(unsafe.Pointer(&sets[0])), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
