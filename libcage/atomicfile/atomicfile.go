// Package atomicfile replaces small files as a whole, so that no reader and no
// crash ever meets half of one.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Temporary is the ending of files that are not yet whole.
const Temporary = ".tmp"

// Write replaces the file at path, with mode 0600, and makes its directory,
// with mode 0700, if that is missing.
func Write(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := create(dir, filepath.Base(path))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	defer f.Close()
	if _, err = f.Write(data); err != nil {
		return err
	}
	// The lock stays until the file has its name.
	return os.Rename(f.Name(), path)
}

// create makes a temporary file that is locked for as long as its writer lives,
// by which Sweep knows it.
func create(dir, base string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(dir, base+".*"+Temporary)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
			return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
		if _, err := os.Lstat(f.Name()); err == nil {
			return f, nil
		}
		f.Close() // swept between its making and its lock
	}
}

// Sweep removes the temporary files of a directory whose writers have died. A
// directory that is not there has none.
func Sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	failed := []error{err}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), Temporary) {
			failed = append(failed, sweep(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(failed...)
}

func sweep(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil // its writer lives
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
