package image

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// identify reads a regular file's identity from its descriptor.
func identify(f *os.File) (fileID, error) {
	info, err := f.Stat()
	if err != nil {
		return fileID{}, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return fileID{}, &fs.PathError{Op: "hash", Path: f.Name(), Err: errors.New("not a regular file")}
	}
	return fileID{
		Dev:   uint64(stat.Dev),
		Inode: stat.Ino,
		Size:  stat.Size,
		MTime: stat.Mtimespec.Nano(),
		CTime: stat.Ctimespec.Nano(),
	}, nil
}
