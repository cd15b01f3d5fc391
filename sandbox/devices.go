//go:build linux

package sandbox

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// devNodes and devLinks are what a cage's /dev holds besides its terminals.
var (
	devNodes = []string{"null", "zero", "full", "random", "urandom", "tty"}
	devLinks = map[string]string{
		"stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
		"fd": "/proc/self/fd", "core": "/proc/kcore", "ptmx": "pts/ptmx",
	}
)

// dev makes the minimal /dev that bubblewrap would: it makes the same nodes,
// and reads the mount table for each.
func (t *tree) dev(target string) error {
	fd, err := memory(0o755, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for _, dir := range []string{"shm", "pts"} {
		if err := unix.Mkdirat(fd, dir, 0o755); err != nil {
			return err
		}
	}
	for name, to := range devLinks {
		if err := unix.Symlinkat(to, fd, name); err != nil {
			return err
		}
	}
	if err := t.attach(fd, target, true); err != nil {
		return err
	}
	for _, name := range devNodes {
		if err := t.node(fd, name, "/dev/"+name); err != nil {
			return err
		}
	}
	// The caller's terminal, which is none of the cage's, has a name there.
	if tty, err := os.Readlink("/proc/self/fd/1"); err == nil && isTerminal(1) && strings.HasPrefix(tty, "/dev/") {
		if err := t.node(fd, "console", tty); err != nil {
			return err
		}
	}
	return t.terminals(target + "/pts")
}

// node shows a device node of the host in a directory of the cage's own.
func (t *tree) node(dir int, name, source string) error {
	if err := unix.Mknodat(dir, name, unix.S_IFREG|0o444, 0); err != nil {
		return err
	}
	node, err := unix.OpenTree(unix.AT_FDCWD, source, cloned)
	if err != nil {
		return pathError(source, err)
	}
	defer unix.Close(node)
	if err := restrict(node, unix.MOUNT_ATTR_NOSUID); err != nil {
		return err
	}
	return unix.MoveMount(node, "", dir, name, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// terminals mounts a file system of the cage's own for them.
func (t *tree) terminals(target string) error {
	fs, err := unix.Fsopen("devpts", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	for _, o := range []struct {
		name string
		mode uint64
	}{{"ptmxmode", 0o666}, {"mode", 0o620}} {
		if err := unix.FsconfigSetString(fs, o.name, strconv.FormatUint(o.mode, 8)); err != nil {
			return err
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return err
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return t.attach(fd, target, true)
}
