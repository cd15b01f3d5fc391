//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Bounds of what is kept for putting it back, per git directory.
const (
	maxControlFiles = 20000
	maxControlBytes = 64 << 20
)

// kept is a file as it was: enough to put it back.
type kept struct {
	mode fs.FileMode
	data []byte
	link string
}

// readControl reads the control files of a git directory, hooks and the git
// directories of submodules and worktrees among them.
func readControl(dir string) (map[string]kept, error) {
	out := map[string]kept{}
	total := 0
	names := append([]string{"HEAD"}, gitControl...)
	for _, w := range childDirs(dir + "/worktrees") {
		for _, name := range []string{"gitdir", "commondir", "config.worktree"} {
			names = append(names, "worktrees/"+filepath.Base(w)+"/"+name)
		}
	}
	for _, name := range names {
		err := readTree(dir, name, out, &total)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// uncontrolled knows the parts of a submodule's git directory that hold no control
// and may be huge.
func uncontrolled(rel string) bool {
	if !strings.HasPrefix(rel, "modules/") {
		return false
	}
	switch filepath.Base(rel) {
	case "objects", "logs", "refs", "lfs", "index", "packed-refs", "ORIG_HEAD", "FETCH_HEAD":
		return true
	}
	return false
}

func readTree(dir, rel string, out map[string]kept, total *int) error {
	p := dir + "/" + rel
	fi, err := os.Lstat(p)
	if os.IsNotExist(err) || err != nil && strings.Contains(err.Error(), "not a directory") {
		return nil
	}
	if err != nil {
		return err
	}
	if len(out) >= maxControlFiles {
		return fmt.Errorf("more than %d files", maxControlFiles)
	}
	k := kept{mode: fi.Mode()}
	switch {
	case fi.Mode().IsRegular():
		if fi.Size() > maxControlBytes-int64(*total) {
			return fmt.Errorf("more than %d bytes", maxControlBytes)
		}
		k.data = readSmall(p, fi.Size()+1)
		*total += len(k.data)
	case fi.Mode()&fs.ModeSymlink != 0:
		k.link, _ = os.Readlink(p)
	case fi.IsDir():
		entries, err := os.ReadDir(p)
		if err != nil {
			return err
		}
		for _, e := range entries {
			sub := rel + "/" + e.Name()
			if uncontrolled(sub) {
				continue
			}
			if err := readTree(dir, sub, out, total); err != nil {
				return err
			}
		}
	}
	out[rel] = k
	return nil
}

// putBack makes one path what it was. What is there now is moved aside, never
// deleted.
func putBack(dir int, rel string, was kept, had, has bool) error {
	parent, err := openParent(dir, rel)
	if err != nil && had {
		if err = makeParents(dir, rel); err == nil {
			parent, err = openParent(dir, rel)
		}
	}
	if err != nil {
		if !had {
			return nil // went with its directory
		}
		return err
	}
	defer unix.Close(parent)
	name := filepath.Base(rel)
	if has {
		if had && was.mode.IsRegular() {
			return writeAt(parent, name, was.data, uint32(was.mode.Perm()))
		}
		if _, err := setAside(parent, name); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	switch {
	case !had:
		return nil
	case was.mode.IsDir():
		return unix.Mkdirat(parent, name, uint32(was.mode.Perm()))
	case was.mode&fs.ModeSymlink != 0:
		return unix.Symlinkat(was.link, parent, name)
	}
	return writeAt(parent, name, was.data, uint32(was.mode.Perm()))
}

func makeParents(dir int, rel string) error {
	elements := strings.Split(filepath.Dir(rel), "/")
	for i := range elements {
		if err := unix.Mkdirat(dir, strings.Join(elements[:i+1], "/"), 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	return nil
}

// writeAt replaces a file in an open directory as a whole.
func writeAt(dir int, name string, data []byte, perm uint32) error {
	tmp := name + ".sbox-restore"
	unix.Unlinkat(dir, tmp, 0)
	fd, err := unix.Openat(dir, tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), tmp)
	_, err = f.Write(data)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil {
		err = unix.Renameat(dir, tmp, dir, name)
		if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
			if _, err = setAside(dir, name); err == nil {
				err = unix.Renameat(dir, tmp, dir, name)
			}
		}
	}
	return err
}
