package zonefile

import (
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
