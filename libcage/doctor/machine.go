package doctor

import (
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ThisMachine returns the machine that the calling process runs on.
func ThisMachine() Machine { return realMachine{} }

type realMachine struct{}

func (realMachine) UID() int { return os.Getuid() }

func (realMachine) ReadFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	return string(text), err
}

func (realMachine) Glob(pattern string) []string {
	found, _ := filepath.Glob(pattern) // fails for a bad pattern only
	return found
}

func (realMachine) OpenDevice(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func (realMachine) DialSocket(path string) error {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	return conn.Close()
}

func (realMachine) FreeBytes(path string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}
