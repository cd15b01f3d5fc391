//go:build linux

package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hold is this cage's share in the placeholders of a project. Cages in the
// same project use the same ones; the last takes them away. What a killed
// sbox leaves behind is in the journal, for the next one to take away.
type hold struct {
	project string
	mutex   *os.File // held while the journal and the placeholders change
	live    *os.File // held shared by every cage of the project
	journal string
	names   map[string]bool // relative to the project
}

// projectsDir is where the journals are.
func (m *Machine) projectsDir() string { return filepath.Join(m.StateDir, "projects") }

func (m *Machine) projectState(project string) string {
	// Two projects of one name would only wait for each other.
	h := fnv.New128a()
	h.Write([]byte(project))
	return filepath.Join(m.projectsDir(), fmt.Sprintf("%x", h.Sum(nil)))
}

// enter joins the cages of a project and keeps others from changing its
// placeholders until create has run.
func (m *Machine) enter(project string) (*hold, error) {
	dir := m.projectState(project)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	h := &hold{project: project, journal: filepath.Join(dir, "journal"), names: map[string]bool{}}
	var err error
	if h.mutex, err = openLock(dir + "/mutex"); err == nil {
		err = flock(h.mutex, unix.LOCK_EX)
	}
	if err == nil {
		h.live, err = openLock(dir + "/live")
	}
	if err == nil && flock(h.live, unix.LOCK_EX|unix.LOCK_NB) == nil {
		clearJournal(h.journal)
	}
	if err == nil {
		err = flock(h.live, unix.LOCK_SH)
	}
	if err != nil {
		h.close()
		return nil, err
	}
	_, entries := readJournal(h.journal)
	for _, e := range entries {
		h.names[e.name] = true
	}
	return h, nil
}

func openLock(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}

// create makes the placeholders that are missing and lets others go on. It
// returns those that cannot be made: where the caller cannot create a file,
// the cage cannot either.
func (h *hold) create(placeholders []Placeholder) (failed map[string]bool, err error) {
	defer func() { _ = flock(h.mutex, unix.LOCK_UN) }()
	failed = map[string]bool{}
	var mine []Placeholder
	for _, p := range placeholders {
		if strings.HasPrefix(p.Path, h.project+"/") {
			mine = append(mine, p)
		}
	}
	// The journal comes first: what is in it and was not made is no harm.
	if err := h.writeJournal(mine, nil); err != nil {
		return nil, err
	}
	dir, err := openDir(h.project)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	inodes := map[string]uint64{}
	maker := maker{dir: dir}
	for _, p := range mine {
		rel := p.Path[len(h.project)+1:]
		ino, err := maker.make(rel, p.Dir)
		switch {
		case err == nil:
			inodes[rel] = ino
		case !errors.Is(err, unix.EEXIST):
			failed[p.Path] = true
		}
	}
	return failed, h.writeJournal(mine, inodes)
}

// maker makes placeholders in a project. Its files are one file with many
// names, where the file system has such: a name costs a fifth of a file.
type maker struct {
	dir   int    // the project's
	first string // a file that was made; empty if there is none
	ino   uint64
}

// make makes an empty file or directory whose parents exist, following no
// link on the way.
func (m *maker) make(rel string, isDir bool) (uint64, error) {
	parent, name, err := dirAndName(m.dir, rel)
	if err != nil {
		return 0, err
	}
	if parent != m.dir {
		defer unix.Close(parent)
	}
	if !isDir && m.first != "" && unix.Linkat(m.dir, m.first, parent, name, 0) == nil {
		// Somebody may have exchanged the first one.
		ino, err := inodeAt(parent, name)
		if err == nil && ino == m.ino {
			return ino, nil
		}
		_ = unix.Unlinkat(parent, name, 0)
	}
	if isDir {
		err = unix.Mkdirat(parent, name, 0o755)
	} else {
		err = unix.Mknodat(parent, name, unix.S_IFREG|0o444, 0)
	}
	if err != nil {
		return 0, err
	}
	ino, err := inodeAt(parent, name)
	if err == nil && !isDir && parent == m.dir {
		m.first, m.ino = name, ino
	}
	return ino, err
}

func inodeAt(dir int, name string) (uint64, error) {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st.Ino, err
}

// dirAndName opens the directory that a name lies in: dir itself, or one
// below it.
func dirAndName(dir int, rel string) (parent int, name string, err error) {
	if !strings.Contains(rel, "/") {
		return dir, rel, nil
	}
	parent, err = openParent(dir, rel)
	return parent, filepath.Base(rel), err
}

func openParent(dir int, rel string) (int, error) {
	return unix.Openat2(dir, filepath.Dir(rel), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
}

// openDir opens a directory by a path without links.
func openDir(p string) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
}

// entry of a journal: a placeholder and its inode, 0 if it may not exist.
type journalEntry struct {
	name string
	ino  uint64
}

// writeJournal adds to the journal what this cage makes.
func (h *hold) writeJournal(placeholders []Placeholder, inodes map[string]uint64) error {
	_, entries := readJournal(h.journal)
	known := map[string]int{}
	for i, e := range entries {
		known[e.name] = i
	}
	for _, p := range placeholders {
		rel := p.Path[len(h.project)+1:]
		i, ok := known[rel]
		if !ok {
			i = len(entries)
			entries = append(entries, journalEntry{name: rel})
		}
		if ino, ok := inodes[rel]; ok {
			entries[i].ino = ino
		}
	}
	if len(entries) == 0 {
		return nil
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%q\n", h.project)
	for _, e := range entries {
		fmt.Fprintf(&b, "%q %d\n", e.name, e.ino)
	}
	return os.WriteFile(h.journal, b.Bytes(), 0o600)
}

func readJournal(name string) (project string, entries []journalEntry) {
	sc := bufio.NewScanner(bytes.NewReader(readSmall(name, 1<<20)))
	for sc.Scan() {
		if project == "" {
			p, err := strconv.Unquote(sc.Text())
			if err != nil || !filepath.IsAbs(p) {
				return "", nil
			}
			project = p
			continue
		}
		quoted, number, ok := strings.Cut(sc.Text(), `" `)
		rel, err := strconv.Unquote(quoted + `"`)
		ino, err2 := strconv.ParseUint(number, 10, 64)
		if ok && err == nil && err2 == nil {
			entries = append(entries, journalEntry{rel, ino})
		}
	}
	return project, entries
}

// clearJournal takes away the placeholders of a journal, and it: only what is
// still empty and the very file that was made.
func clearJournal(journal string) {
	project, entries := readJournal(journal)
	if project == "" {
		return
	}
	dir, err := openDir(project)
	if err != nil {
		os.Remove(journal)
		return
	}
	defer unix.Close(dir)
	for i := len(entries) - 1; i >= 0; i-- {
		removeAt(dir, entries[i])
	}
	os.Remove(journal)
}

func removeAt(dir int, e journalEntry) {
	parent, name, err := dirAndName(dir, e.name)
	if err != nil {
		return
	}
	if parent != dir {
		defer unix.Close(parent)
	}
	var st unix.Stat_t
	if unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return
	}
	switch {
	case e.ino != 0 && st.Ino != e.ino:
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		unix.Unlinkat(parent, name, unix.AT_REMOVEDIR) // refuses one that is not empty
	case st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size == 0 && st.Mode&0o777 == 0o444:
		unix.Unlinkat(parent, name, 0)
	}
}

// release leaves the project's cages; the last one takes the placeholders
// away.
func (h *hold) release() {
	if h == nil {
		return
	}
	if flock(h.mutex, unix.LOCK_EX) == nil && flock(h.live, unix.LOCK_EX|unix.LOCK_NB) == nil {
		clearJournal(h.journal)
	}
	h.close()
}

func (h *hold) close() {
	for _, f := range []*os.File{h.live, h.mutex} {
		if f != nil {
			f.Close()
		}
	}
}

// sweep takes away what cages that were killed left in other projects.
func (m *Machine) sweep() {
	journals, _ := filepath.Glob(m.projectsDir() + "/*/journal")
	for _, j := range journals {
		dir := filepath.Dir(j)
		mutex, err := openLock(dir + "/mutex")
		if err != nil {
			continue
		}
		if flock(mutex, unix.LOCK_EX|unix.LOCK_NB) == nil {
			if live, err := openLock(dir + "/live"); err == nil {
				if flock(live, unix.LOCK_EX|unix.LOCK_NB) == nil {
					clearJournal(j)
				}
				live.Close()
			}
		}
		mutex.Close()
	}
}
