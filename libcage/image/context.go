package image

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// withBinaries is a context with files of this machine in its root.
type withBinaries struct {
	fs.FS
	paths map[string]string
}

// newContext adds the binaries to a context. A name that both have is an
// error: which of them the build would get must not be a matter of chance.
func newContext(files fs.FS, binaries map[string]string) (fs.FS, error) {
	for _, name := range slices.Sorted(maps.Keys(binaries)) {
		_, err := fs.Stat(files, name)
		if err == nil {
			return nil, fmt.Errorf("the context has a file %s already", name)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return withBinaries{FS: files, paths: binaries}, nil
}

// Open opens a binary as an executable file, or a file of the context.
func (c withBinaries) Open(name string) (fs.File, error) {
	path, ok := c.paths[name]
	if !ok {
		return c.FS.Open(name)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return executable{File: f, name: name}, nil
}

// ReadDir lists a directory; the binaries are in the root.
func (c withBinaries) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(c.FS, name)
	if err != nil || name != "." {
		return entries, err
	}
	for binary := range c.paths {
		info, err := c.stat(binary)
		if err != nil {
			return nil, err
		}
		entries = append(entries, fs.FileInfoToDirEntry(info))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		if a.Name() < b.Name() {
			return -1
		}
		return 1
	})
	return entries, nil
}

// ReadLink returns where a link of the context leads; binaries are none.
func (c withBinaries) ReadLink(name string) (string, error) { return fs.ReadLink(c.FS, name) }

// Lstat does not follow a link of the context.
func (c withBinaries) Lstat(name string) (fs.FileInfo, error) {
	if _, ok := c.paths[name]; ok {
		return c.stat(name)
	}
	return fs.Lstat(c.FS, name)
}

func (c withBinaries) stat(name string) (fs.FileInfo, error) {
	info, err := os.Stat(c.paths[name])
	if err != nil {
		return nil, err
	}
	return executableInfo{FileInfo: info, name: name}, nil
}

type executable struct {
	*os.File
	name string
}

func (e executable) Stat() (fs.FileInfo, error) {
	info, err := e.File.Stat()
	if err != nil {
		return nil, err
	}
	return executableInfo{FileInfo: info, name: e.name}, nil
}

type executableInfo struct {
	fs.FileInfo
	name string
}

func (i executableInfo) Name() string      { return i.name }
func (i executableInfo) Mode() fs.FileMode { return 0o755 }
