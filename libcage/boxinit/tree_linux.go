package boxinit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// openDir opens the directory path below root, element by element and through
// no symlink, and makes what is missing of it with mode. The descriptor is for
// use as a directory in further calls.
func openDir(root, path string, mode uint32) (int, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	for name := range strings.SplitSeq(strings.Trim(filepath.Clean("/"+path), "/"), "/") {
		if name == "" {
			continue
		}
		next, err := enter(fd, name, mode)
		unix.Close(fd)
		if err != nil {
			return -1, fmt.Errorf("%s, at %s: %w", path, name, err)
		}
		fd = next
	}
	return fd, nil
}

// enter opens the directory name in dir, and makes it if it is missing.
func enter(dir int, name string, mode uint32) (int, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(dir, name, flags, 0)
	if err != unix.ENOENT {
		return fd, err
	}
	if err := unix.Mkdirat(dir, name, mode); err != nil && err != unix.EEXIST {
		return -1, err
	}
	return unix.Openat(dir, name, flags, 0)
}

// replaceFile gives path below root a content, a mode and an owner, in one
// step: it is there as a whole or not at all, and a symlink at path is
// replaced and not followed. Directories that are missing are made with dirMode.
func replaceFile(root, path string, content []byte, dirMode, mode, uid, gid uint32) error {
	dir, err := openDir(root, filepath.Dir(path), dirMode)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	name := filepath.Base(path)
	temp := fmt.Sprintf(".%s.cage-init-%d", name, os.Getpid())
	if err := writeFile(dir, temp, content, mode, uid, gid); err != nil {
		unix.Unlinkat(dir, temp, 0)
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := unix.Renameat(dir, temp, dir, name); err != nil {
		unix.Unlinkat(dir, temp, 0)
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func writeFile(dir int, name string, content []byte, mode, uid, gid uint32) error {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if _, err := f.Write(content); err != nil {
		return err
	}
	// The mode first: without FOWNER it cannot be changed on another's file.
	if err := unix.Fchmod(fd, mode&0o777); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Uid == uid && st.Gid == gid {
		return nil
	}
	return unix.Fchown(fd, int(uid), int(gid))
}
