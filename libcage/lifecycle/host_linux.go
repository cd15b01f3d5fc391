package lifecycle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// machineID is that of machine-id(5), which an early dbus has elsewhere.
func machineID() string {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if text, err := os.ReadFile(path); err == nil {
			if id := strings.TrimSpace(string(text)); id != "" && id != "uninitialized" {
				return id
			}
		}
	}
	return ""
}

func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text)), err
}

func bootTime() (time.Time, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, err
	}
	for line := range strings.Lines(string(text)) {
		if seconds, ok := strings.CutPrefix(line, "btime "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 64)
			return time.Unix(n, 0), err
		}
	}
	return time.Time{}, errors.New("/proc/stat has no btime")
}

func pidNamespace() (string, error) {
	info, err := os.Stat("/proc/self/ns/pid")
	if err != nil {
		return "", err
	}
	return strconv.FormatUint(info.Sys().(*syscall.Stat_t).Ino, 10), nil
}

// startOf reads the start of a process from /proc, if that is the /proc of the
// caller's own namespace.
func startOf(pid int) (string, error) {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return "", errors.New("/proc is that of another namespace")
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		return absent(pid)
	case err != nil:
		return "", err
	}
	return parseStat(stat)
}

// absent makes sure that a process is not only hidden, as hidepid= does.
func absent(pid int) (string, error) {
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		return "", fmt.Errorf("process %d is hidden", pid)
	}
	return "", ErrNoProcess
}

// The fields of /proc/PID/stat behind the name, which may hold anything.
const (
	stateField = 0
	startField = 19
)

func parseStat(stat []byte) (start string, err error) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return "", fmt.Errorf("%q is no process's stat", stat)
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) <= startField {
		return "", fmt.Errorf("%q is no process's stat", stat)
	}
	if s := fields[stateField]; s == "Z" || s == "X" {
		return "", ErrNoProcess
	}
	return fields[startField], nil
}
