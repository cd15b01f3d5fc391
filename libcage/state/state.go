// Package state is a launcher's access to the directory in which a harness
// keeps its login and sessions. The box writes there, so what is found is
// neither followed nor trusted; and it is never torn, so a file is replaced as
// a whole, under a lock.
package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
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

// Owner is whom a state directory belongs to: the caller, also where root runs
// the launcher for somebody else.
type Owner struct{ UID, GID uint32 }

// Dir is an open and locked state directory. Close it.
type Dir struct {
	root  *os.Root
	lock  *os.File
	owner Owner
}

// Open opens the directory rel below home, waiting for other launchers that
// have it open. Missing directories are made with mode 0700. Every directory
// below home must be a real one of the owner's, or of this process's user if it
// is above rel; no link leads out. An error is an *UnusableError.
func Open(home, rel string, owner Owner) (_ *Dir, err error) {
	root, err := os.OpenRoot(home)
	if err != nil {
		return nil, &UnusableError{home, "cannot be opened", cause(err)}
	}
	defer root.Close()
	path, rel := ".", filepath.Clean(rel)
	for _, name := range strings.Split(rel, string(filepath.Separator)) {
		path = filepath.Join(path, name)
		owners := []uint32{owner.UID}
		if path != rel {
			owners = append(owners, uint32(os.Geteuid()))
		}
		if err := ensure(root, path, owner, owners); err != nil {
			err.Path = filepath.Join(home, path)
			return nil, err
		}
	}
	lock, err := lockFile(root, path+".lock", owner)
	if err != nil {
		return nil, &UnusableError{filepath.Join(home, path), "cannot be locked", cause(err)}
	}
	dir, err := root.OpenRoot(path)
	if err != nil {
		lock.Close()
		return nil, &UnusableError{filepath.Join(home, path), "cannot be opened", cause(err)}
	}
	return &Dir{root: dir, lock: lock, owner: owner}, nil
}

// ReadFile is [Dir.ReadFile] of the directory rel below home, which is neither
// made nor locked.
func ReadFile(home, rel, name string) ([]byte, error) {
	root, err := os.OpenRoot(home)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := root.OpenRoot(rel)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return (&Dir{root: dir}).ReadFile(name)
}

// ensure makes a directory for its owner, or checks that the one that is there
// belongs to one of the owners.
func ensure(root *os.Root, path string, owner Owner, owners []uint32) *UnusableError {
	err := root.Mkdir(path, 0o700)
	switch {
	case err == nil:
		if err := give(root, path, owner); err != nil {
			return &UnusableError{Reason: "cannot be given to its owner", Err: cause(err)}
		}
	case !errors.Is(err, fs.ErrExist):
		return &UnusableError{Reason: "cannot be made: make your home directory writable", Err: cause(err)}
	}
	info, err := root.Lstat(path)
	switch {
	case err != nil:
		return &UnusableError{Reason: "cannot be looked at", Err: cause(err)}
	case info.Mode()&fs.ModeSymlink != 0:
		return &UnusableError{Reason: "is a symbolic link: replace it by a directory"}
	case !info.IsDir():
		return &UnusableError{Reason: "is not a directory: move it away"}
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && !slices.Contains(owners, stat.Uid) {
		return &UnusableError{Reason: fmt.Sprintf("belongs to user %d and not to user %d: change its owner or move it away", stat.Uid, owner.UID)}
	}
	return nil
}

// give makes the owner that of a new file, where it is another than this
// process's.
func give(root *os.Root, path string, owner Owner) error {
	if int(owner.UID) == os.Geteuid() {
		return nil
	}
	return root.Lchown(path, int(owner.UID), int(owner.GID))
}

// lockFile opens a file and waits until no other process has it locked. The
// lock ends with the process.
func lockFile(root *os.Root, path string, owner Owner) (*os.File, error) {
	f, err := root.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(give(root, path, owner), unix.Flock(int(f.Fd()), unix.LOCK_EX)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
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
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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

// AppendLine adds a line to a file, which it replaces by its newer half when it
// has become longer than limit, in bytes. Unlike WriteFile it does not wait for
// the disk. What has the name and is no regular file is removed.
func (d *Dir) AppendLine(name, line string, limit int64) error {
	info, err := d.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		if err := d.root.RemoveAll(name); err != nil {
			return err
		}
	case info.Size() > limit:
		data, err := d.ReadFile(name)
		if err != nil {
			return err
		}
		newer := data[max(0, len(data)-int(limit/2)):]
		if err := d.WriteFile(name, newer[bytes.IndexByte(newer, '\n')+1:]); err != nil {
			return err
		}
	}
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close(), give(d.root, name, d.owner))
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
			err = errors.Join(err, d.root.Remove(temp))
		}
	}()
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close(), give(d.root, temp, d.owner)); err != nil {
		return err
	}
	return d.root.Rename(temp, name)
}
