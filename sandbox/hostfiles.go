package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
	{"/", 0}, {"/etc", 5}, {"/opt", 2}, {"/srv", 2}, {"/mnt", 1}, {"/media", 1}, {"/home", 1}, {"/usr/local/etc", 3},
	{"/var", 1}, {"/var/lib", 2}, {"/var/cache", 2}, {"/var/spool", 2}, {"/var/opt", 2}, {"/var/www", 2},
}

// rootOnly hides what belongs to root and others cannot read.
func (b *builder) rootOnly() {
	budget := maxRootOnlyDirs
	for _, t := range rootOnlyTrees {
		b.rootOnlyIn(t.dir, t.depth, &budget)
	}
	if budget < 0 {
		b.note("files that only root can read: there are more directories than are searched")
	}
}

func (b *builder) rootOnlyIn(dir string, depth int, budget *int) {
	if *budget--; *budget < 0 {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 {
			continue
		}
		p := filepath.Join(dir, e.Name())
		if p == "/proc" || p == "/sys" || p == "/dev" || p == "/run" || p == b.m.Home || p == b.m.OtherHome || b.m.Zone.Contains(p) {
			continue
		}
		fi, err := e.Info()
		if err != nil {
			continue
		}
		st, ok := fi.Sys().(*syscall.Stat_t)
		if !ok || b.holdsHomeOrZone(p) {
			continue
		}
		need := os.FileMode(0o004)
		if fi.IsDir() {
			need = 0o001
		}
		if st.Uid == 0 && fi.Mode().Perm()&need == 0 {
			b.hideFound(p, fi, "only root can read it")
			continue
		}
		if fi.IsDir() && depth > 0 && !b.isHidden(p) {
			b.rootOnlyIn(p, depth-1, budget)
		}
	}
}

// holdsHomeOrZone reports whether hiding p would hide what must stay.
func (b *builder) holdsHomeOrZone(p string) bool {
	keep := []string{b.m.Home, b.m.Dir, b.m.Exe}
	for _, r := range b.m.Zone.Roots {
		keep = append(keep, r.Path)
	}
	for _, k := range keep {
		if strings.HasPrefix(k, p+"/") {
			return true
		}
	}
	return false
}
