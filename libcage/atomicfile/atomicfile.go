// Package atomicfile replaces small files as a whole, so that no reader and no
// crash ever meets half of one.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Temporary is the ending of files that are not yet whole. One that is old was
// left by a process that died.
const Temporary = ".tmp"

// Write replaces the file at path, with mode 0600, and makes its directory,
// with mode 0700, if that is missing.
func Write(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*"+Temporary)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
