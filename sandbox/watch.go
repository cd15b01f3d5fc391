//go:build linux

package sandbox

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// watched is a path as it was before the command, by its open directory: the
// command may move directories about.
type watched struct {
	Watch
	dir    int
	exists bool
	mode   uint32
	ino    uint64
	link   string
}

type watchList []*watched

// snapshot looks at the watched paths.
func snapshot(ws []Watch) watchList {
	var out watchList
	for _, w := range ws {
		dir, err := openDir(filepath.Dir(w.Path))
		if err != nil {
			continue
		}
		s := &watched{Watch: w, dir: dir}
		s.exists, s.mode, s.ino, s.link = look(dir, filepath.Base(w.Path))
		out = append(out, s)
	}
	return out
}

func look(dir int, name string) (exists bool, mode uint32, ino uint64, link string) {
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false, 0, 0, ""
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		buf := make([]byte, unix.PathMax)
		if n, err := unix.Readlinkat(dir, name, buf); err == nil {
			link = string(buf[:n])
		}
	}
	return true, st.Mode & unix.S_IFMT, st.Ino, link
}

// compare sets aside what appeared or was exchanged and puts links back. It
// returns a line for each thing that it did.
func (l watchList) compare() []string {
	var said []string
	for _, w := range l {
		name := filepath.Base(w.Path)
		exists, mode, ino, link := look(w.dir, name)
		if exists == w.exists && mode == w.mode && link == w.link && (ino == w.ino || w.link != "") {
			continue
		}
		if exists {
			aside, err := setAside(w.dir, name)
			if err != nil {
				said = append(said, fmt.Sprintf("WARNING: %q appeared in the cage and cannot be moved aside (%v): %s", w.Path, err, w.Reason))
				continue
			}
			said = append(said, fmt.Sprintf("%q appeared in the cage and was set aside as %q: %s", w.Path, aside, w.Reason))
		}
		if w.link != "" {
			if err := unix.Symlinkat(w.link, w.dir, name); err == nil {
				said = append(said, fmt.Sprintf("%q was put back", w.Path))
			}
		} else if w.exists && !exists {
			said = append(said, fmt.Sprintf("%q was removed in the cage", w.Path))
		}
	}
	return said
}

// setAside renames a file within its directory to a name that is free.
func setAside(dir int, name string) (string, error) {
	for i := 1; ; i++ {
		aside := fmt.Sprintf("%s.set-aside-by-sbox-%d", name, i)
		err := unix.Renameat2(dir, name, dir, aside, unix.RENAME_NOREPLACE)
		if err == nil || err != unix.EEXIST || i >= 10000 {
			return aside, err
		}
	}
}

func (l watchList) close() {
	for _, w := range l {
		unix.Close(w.dir)
	}
}
