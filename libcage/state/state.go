// Package state is a launcher's access to the directory in which a harness
// keeps its login and sessions. The box writes there, so what is found is
// neither followed nor trusted; and it is never torn, so a file is replaced as
// a whole, under a lock.
package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
)

// maxFile bounds what is read of a file that the box may have written, in
// bytes.
const maxFile = 64 << 20

// UnusableError is a state directory that cannot be used, and why.
type UnusableError struct {
	Path, Reason string
	Err          error
}

func (e *UnusableError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("state directory %q: %s: %v", e.Path, e.Reason, e.Err)
	}
	return fmt.Sprintf("state directory %q: %s", e.Path, e.Reason)
}

func (e *UnusableError) Unwrap() error { return e.Err }

// Dir is an open and locked state directory. Close it.
type Dir struct {
	root *os.Root
	lock *flock.Flock
}

// Open opens the directory rel below home, waiting for other launchers that
// have it open. Missing directories are made with mode 0700. Every directory
// below home must be a real one of the caller's. An error is an
// *UnusableError.
func Open(home, rel string) (*Dir, error) {
	path := home
	for _, name := range strings.Split(filepath.Clean(rel), string(filepath.Separator)) {
		path = filepath.Join(path, name)
		if err := ensure(path); err != nil {
			return nil, err
		}
	}
	lock := flock.New(path + ".lock")
	if err := lock.Lock(); err != nil {
		return nil, &UnusableError{path, "cannot be locked", err}
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		lock.Close()
		return nil, &UnusableError{path, "cannot be opened", err}
	}
	return &Dir{root: root, lock: lock}, nil
}

// ensure makes a directory or checks the one that is there.
func ensure(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return &UnusableError{path, "cannot be made: make your home directory writable", cause(err)}
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return &UnusableError{path, "cannot be looked at", cause(err)}
	case info.Mode()&fs.ModeSymlink != 0:
		return &UnusableError{path, "is a symbolic link: replace it by a directory", nil}
	case !info.IsDir():
		return &UnusableError{path, "is not a directory: move it away", nil}
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Getuid() {
		return &UnusableError{path, fmt.Sprintf("belongs to user %d and you are %d: change its owner or move it away", stat.Uid, os.Getuid()), nil}
	}
	return nil
}

// cause takes the path out of a file system error.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Close releases the directory.
func (d *Dir) Close() error { return errors.Join(d.root.Close(), d.lock.Close()) }

// ReadFile returns the content of a regular file of at most 64 MiB. The error
// is fs.ErrNotExist if there is none. A link is not followed out of the
// directory, and a pipe is not waited for.
func (d *Dir) ReadFile(name string) ([]byte, error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, maxFile)
	}
	return data, err
}

// WriteFile replaces a file as a whole, with mode 0600. The old content stays
// until the new one is on the disk.
func (d *Dir) WriteFile(name string, data []byte) (err error) {
	temp := name + ".new"
	if err := d.root.RemoveAll(temp); err != nil {
		return err
	}
	f, err := d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			d.root.Remove(temp)
		}
	}()
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return d.root.Rename(temp, name)
}
