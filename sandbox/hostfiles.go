//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/zone"
)

// Bounds of the two searches, in directories. What lies beyond is in the
// threat model.
const (
	maxDotenvDirs   = 4096
	maxRootOnlyDirs = 8192
)

// dotenv hides the .env files of projects outside the zone: those in the home
// directory and in directories one and two levels below.
func (b *builder) dotenv() {
	budget := maxDotenvDirs
	b.dotenvIn(b.m.Home, 2, &budget)
}

func (b *builder) dotenvIn(dir string, depth int, budget *int) {
	if *budget--; *budget < 0 {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		name := e.Name()
		p := dir + "/" + name
		if e.IsDir() {
			if depth > 0 && name[0] != '.' && name != "node_modules" && !b.m.Zone.Contains(p) && !b.isHidden(p) {
				b.dotenvIn(p, depth-1, budget)
			}
			continue
		}
		if name == ".env" || strings.HasPrefix(name, ".env.") || name == ".envrc" {
			b.hide(p, "settings of another project")
		}
	}
}

// rootOnlyTrees are searched when root calls, to the given depth. Root is
// still the owner of what only root can read, capabilities or not.
var rootOnlyTrees = []struct {
	dir   string
	depth int
}{
	{"/", 0}, {"/etc", 3}, {"/opt", 1}, {"/srv", 1}, {"/mnt", 0}, {"/media", 0}, {"/home", 0}, {"/usr/local/etc", 2},
	{"/var", 0}, {"/var/lib", 0}, {"/var/cache", 0}, {"/var/spool", 0}, {"/var/opt", 1}, {"/var/www", 1},
}

// closedFile is one that only root can read.
type closedFile struct {
	path string
	dir  bool
}

// rootOnlySearch is a search for what belongs to root and others cannot read.
// It is most of what describing a cage costs root, and runs beside the rest.
type rootOnlySearch struct {
	m      *Machine
	reader dirReader
	budget int // directories left to list
	found  []closedFile
	done   chan struct{}
}

// searchRootOnly starts the search; nil if an ordinary user calls.
func (m *Machine) searchRootOnly() *rootOnlySearch {
	if m.UID != 0 {
		return nil
	}
	s := &rootOnlySearch{m: m, budget: maxRootOnlyDirs, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for _, t := range rootOnlyTrees {
			s.in(t.dir, t.depth)
		}
	}()
	return s
}

// rootOnly hides what the search finds.
func (b *builder) rootOnly() {
	if b.closed == nil {
		return
	}
	<-b.closed.done
	for _, f := range b.closed.found {
		b.hideFound(f.path, f.dir, "only root can read it")
	}
	if b.closed.budget < 0 {
		b.note("files that only root can read: there are more directories than are searched")
	}
}

func (s *rootOnlySearch) in(dir string, depth int) {
	if s.budget--; s.budget < 0 {
		return
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	entries, _ := s.reader.list(fd)
	for _, e := range entries {
		if e.kind == unix.DT_LNK {
			continue // what it leads to has its own mode; half of /etc are links
		}
		var st unix.Stat_t
		if unix.Fstatat(fd, e.name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue
		}
		isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
		need := uint32(0o004)
		if isDir {
			need = 0o001
		}
		closed := st.Uid == 0 && st.Mode&need == 0 && st.Mode&unix.S_IFMT != unix.S_IFLNK
		if !closed && (!isDir || depth == 0) {
			continue
		}
		p := filepath.Join(dir, e.name)
		if s.m.Zone.Contains(p) || s.m.holdsHomeOrZone(p) || kernelTree(p) {
			continue
		}
		if closed {
			s.found = append(s.found, closedFile{path: p, dir: isDir})
		} else {
			s.in(p, depth-1)
		}
	}
}

// kernelTree knows the directories that the cage has of its own, or that are
// no files of the disk.
func kernelTree(p string) bool {
	return p == "/proc" || p == "/sys" || p == "/dev" || p == "/run"
}

// holdsHomeOrZone reports whether hiding p would hide what must stay.
func (m *Machine) holdsHomeOrZone(p string) bool {
	keep := []string{m.Home, m.Dir, m.Exe}
	for _, r := range m.Zone.Roots {
		keep = append(keep, r.Path)
	}
	for _, k := range keep {
		if zone.Within(k, p) {
			return true
		}
	}
	return m.OtherHome == p
}
