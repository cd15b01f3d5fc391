package lifecycle

import (
	"encoding/hex"
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// machineID is the host's UUID, which outlives renames and new networks.
func machineID() string {
	var id [16]byte
	var wait syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_GETHOSTUUID, uintptr(unsafe.Pointer(&id)), uintptr(unsafe.Pointer(&wait)), 0)
	if errno != 0 || id == [16]byte{} {
		return ""
	}
	return hex.EncodeToString(id[:])
}

func bootID() (string, error) { return unix.Sysctl("kern.bootsessionuuid") }

func bootTime() (time.Time, error) {
	t, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(t.Unix()), nil
}

// pidNamespace is empty: there is one for all.
func pidNamespace() (string, error) { return "", nil }

// zombie is SZOMB of the kernel's proc.h.
const zombie = 5

func startOf(pid int) (string, error) {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return "", ErrNoProcess
	}
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", err
	}
	if p.Proc.P_stat == zombie {
		return "", ErrNoProcess
	}
	return fmt.Sprintf("%d.%06d", p.Proc.P_starttime.Sec, p.Proc.P_starttime.Usec), nil
}
