//go:build linux

package sandbox

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// dirEntry is a name in a directory, and its DT_* kind, which may be unknown.
type dirEntry struct {
	name string
	kind byte
}

// dirReader lists directories. os.ReadDir makes twice the system calls, and
// memory anew for each directory: with hundreds of them, that is much of what
// a cage costs besides bubblewrap.
type dirReader struct{ buf []byte }

// list returns what an open directory holds, and whether that is all of it.
func (r *dirReader) list(fd int) (entries []dirEntry, whole bool) {
	// struct linux_dirent64: inode, offset, length of the record, kind, name.
	const lengthAt, kindAt, nameAt = 16, 18, 19
	if r.buf == nil {
		r.buf = make([]byte, 16384)
	}
	buf := r.buf
	for {
		n, err := unix.Getdents(fd, buf)
		if n <= 0 || err != nil {
			return entries, err == nil
		}
		for rest := buf[:n]; len(rest) > nameAt; {
			length := int(binary.NativeEndian.Uint16(rest[lengthAt:]))
			if length <= nameAt || length > len(rest) {
				return entries, false
			}
			name, _, _ := bytes.Cut(rest[nameAt:length], []byte{0})
			if s := string(name); s != "." && s != ".." {
				entries = append(entries, dirEntry{name: s, kind: rest[kindAt]})
			}
			rest = rest[length:]
		}
	}
}

// absences knows what is not there without asking for each name: hundreds of
// places are looked up in a home directory that holds few of them.
type absences struct {
	known  map[string]*listing
	reader dirReader
}

func newAbsences() *absences { return &absences{known: map[string]*listing{}} }

// listing is what a directory holds; nil if the kernel is to be asked for
// each name.
type listing struct {
	names map[string]bool // in lower case: some file systems ignore it
	gone  bool            // the directory does not exist
}

// of reports whether p certainly does not exist. In doubt, and of a path that
// is not absolute, it says no.
func (a *absences) of(p string) bool {
	if !filepath.IsAbs(p) {
		return false
	}
	dir, name := filepath.Split(p)
	dir = filepath.Clean(dir)
	l, ok := a.known[dir]
	if !ok {
		if dir != "/" && a.of(dir) {
			l = &listing{gone: true}
		} else {
			l = a.list(dir)
		}
		a.known[dir] = l
	}
	return l != nil && (l.gone || !l.names[strings.ToLower(name)])
}

// list lists a directory of a file system that shows all that it has. Others
// (automounters, network file systems) may find names that they do not list.
func (a *absences) list(dir string) *listing {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if os.IsNotExist(err) {
		return &listing{gone: true}
	}
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) != nil || !listsAll(int64(fs.Type)) {
		return nil
	}
	entries, whole := a.reader.list(fd)
	if !whole {
		return nil
	}
	l := &listing{names: make(map[string]bool, len(entries))}
	for _, e := range entries {
		if strings.IndexFunc(e.name, func(r rune) bool { return r > 0x7f }) >= 0 {
			return nil // may be equal to another name where case is ignored
		}
		l.names[strings.ToLower(e.name)] = true
	}
	return l
}

func listsAll(fsType int64) bool {
	switch fsType {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.SQUASHFS_MAGIC:
		return true
	}
	return false
}
