package zonefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxSize bounds a settings file, in bytes.
const maxSize = 1 << 20

// ReadOwned returns the content of a settings file that nobody but uid and
// root can have written: a regular file of at most 1 MiB, owned by one of
// them, not writable by group or others, in a directory of which the same is
// true, below directories that others cannot rename in. The error of a
// missing file satisfies fs.ErrNotExist.
func ReadOwned(name string, uid int) ([]byte, error) {
	// Opening must not hang on a FIFO; what is checked is what was opened.
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, fmt.Errorf("%s: not a regular file", name)
	}
	if err := checkOwner(name, &st, uid); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil, err
	}
	for _, p := range []string{name, real} {
		if err := checkDirs(filepath.Dir(p), uid); err != nil {
			return nil, err
		}
	}
	if st.Size > maxSize {
		return nil, fmt.Errorf("%s: larger than %d bytes", name, maxSize)
	}
	return readBounded(f, name)
}

// ReadPrivate returns the content of a secret of at most 1 MiB that uid alone
// can read: a regular file with one name, not a symlink, owned by uid, of mode
// 0600 or less, in directories as ReadOwned wants them. The error of a missing
// file satisfies fs.ErrNotExist.
func ReadPrivate(name string, uid int) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%s: a symlink, not a file", name)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, fmt.Errorf("%s: not a regular file", name)
	case int(st.Uid) != uid:
		return nil, fmt.Errorf("%s: owned by uid %d, not by you", name, st.Uid)
	case st.Mode&0o177 != 0:
		return nil, fmt.Errorf("%s: mode %04o; chmod 600 it", name, st.Mode&0o7777)
	case st.Nlink != 1:
		return nil, fmt.Errorf("%s: it has other names (hard links)", name)
	}
	real, err := filepath.EvalSymlinks(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{filepath.Dir(name), real} {
		if err := checkDirs(dir, uid); err != nil {
			return nil, err
		}
	}
	return readBounded(f, name)
}

func readBounded(f *os.File, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxSize {
		return nil, fmt.Errorf("%s: larger than %d bytes", name, maxSize)
	}
	return data, nil
}

func checkOwner(name string, st *unix.Stat_t, uid int) error {
	if int(st.Uid) != uid && st.Uid != 0 {
		return fmt.Errorf("%s: owned by uid %d, not by you or root", name, st.Uid)
	}
	if st.Mode&0o022 != 0 {
		return fmt.Errorf("%s: writable by others (mode %04o); chmod go-w it", name, st.Mode&0o7777)
	}
	return nil
}

// checkDirs holds the nearest directory to the same rule as the file. Of those
// above it, it asks only that others cannot replace what is in them.
func checkDirs(dir string, uid int) error {
	for nearest := true; ; nearest = false {
		var st unix.Stat_t
		if err := unix.Stat(dir, &st); err != nil {
			return &os.PathError{Op: "stat", Path: dir, Err: err}
		}
		if nearest {
			if err := checkOwner(dir, &st, uid); err != nil {
				return err
			}
		} else if st.Mode&0o002 != 0 && st.Mode&unix.S_ISVTX == 0 {
			return fmt.Errorf("%s: writable by others (mode %04o)", dir, st.Mode&0o7777)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil
		}
		dir = parent
	}
}
