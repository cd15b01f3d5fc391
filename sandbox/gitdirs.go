//go:build linux

package sandbox

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/zone"
)

// maxZoneEntries bounds how many directories directly below a zone root are
// looked at.
const maxZoneEntries = 4096

// git makes the git directories that the host will trust read-only: those of
// the repositories up the tree and of the directories directly below each
// root of the zone.
func (b *builder) git() error {
	dir, err := filepath.EvalSymlinks(b.m.Dir)
	if err != nil {
		return nil // directory refuses it
	}
	if root, ok := b.shared(dir); ok {
		b.findProject(dir, root)
		for d := dir; zone.Within(d, root.Path); d = filepath.Dir(d) {
			b.protectRepository(d, d == b.repoTop)
			if d == root.Path {
				break
			}
		}
		b.watchAbove(root)
	}
	for _, r := range b.m.Zone.Roots {
		if _, ok := b.shared(r.Path); !ok {
			continue
		}
		for _, d := range childDirs(r.Path) {
			if d != b.repoTop && !b.m.isRoot(d) {
				b.protectRepository(d, false)
			}
		}
		b.protectRepository(r.Path, false)
	}
	if b.o.Git {
		return b.gitAccess()
	}
	return nil
}

func (m *Machine) isRoot(p string) bool {
	for _, r := range m.Zone.Roots {
		if r.Path == p {
			return true
		}
	}
	return false
}

// findProject sets the top of the current repository, and of the project: the
// same, else the directory directly below the zone's root.
func (b *builder) findProject(dir string, root zone.Root) {
	for d := dir; ; d = filepath.Dir(d) {
		if exists(d+"/.git") || looksBare(d) {
			b.repoTop, b.project = d, d
			return
		}
		if d == root.Path {
			break
		}
	}
	if rest := strings.TrimPrefix(dir, root.Path+"/"); rest != dir {
		first, _, _ := strings.Cut(rest, "/")
		b.project = root.Path + "/" + first
	} else if root.Source == zone.SourceBox && root.Path != "/tmp" {
		b.project = root.Path
	}
}

// watchAbove notes where a git directory must not appear: above the current
// project, where git would find it first on the way up from beside it.
func (b *builder) watchAbove(root zone.Root) {
	if b.project == "" {
		return
	}
	for d := filepath.Dir(b.project); zone.Within(d, root.Path); d = filepath.Dir(d) {
		for _, name := range []string{".git", "HEAD"} {
			if !exists(d + "/" + name) {
				b.watch(d+"/"+name, "git would take it for a repository above the current one")
			}
		}
		if d == root.Path {
			return
		}
	}
}

func (b *builder) watch(p, reason string) {
	for _, w := range b.d.Watches {
		if w.Path == p {
			return
		}
	}
	b.d.Watches = append(b.d.Watches, Watch{Path: p, Reason: reason})
}

// childDirs lists the directories in dir, symlinks left out.
func childDirs(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxZoneEntries)
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, dir+"/"+e.Name())
		}
	}
	return out
}

// protectRepository protects what git reads when it starts in top. deep adds
// the submodules and worktrees that belong to the repository.
func (b *builder) protectRepository(top string, deep bool) {
	if b.m.closedToCage(top) {
		return
	}
	dot := top + "/.git"
	fi, err := os.Lstat(dot)
	switch {
	case err != nil:
		if looksBare(top) && !b.m.isRoot(top) {
			b.protectGitDir(top, false)
		}
	case fi.IsDir():
		b.protectGitDir(dot, deep)
	case fi.Mode().IsRegular():
		b.protectGitFile(dot, deep)
	case fi.Mode()&os.ModeSymlink != 0:
		// A symlink cannot be mounted over. What it leads to is protected;
		// the link itself is compared afterwards.
		b.watch(dot, "git follows this link")
		if real, err := filepath.EvalSymlinks(dot); err == nil {
			if b.inSharedZone(real) {
				b.protectGitDir(real, deep)
			}
		}
	default:
		b.watch(dot, "it is neither a directory nor a file")
	}
}

func (b *builder) inSharedZone(p string) bool {
	_, ok := b.shared(p)
	return ok
}

// protectGitFile protects a file that names a git directory, and that
// directory.
func (b *builder) protectGitFile(file string, deep bool) {
	if _, done := b.inner[file]; done {
		return
	}
	b.protect(file, "git: names the git directory")
	if dir, ok := gitFileTarget(file); ok {
		b.protectGitDir(dir, deep)
	}
}

// gitFileTarget reads "gitdir: PATH".
func gitFileTarget(file string) (string, bool) {
	return namedPath(file, "gitdir:")
}

// namedPath returns the path in a one-line file of git's, after prefix, with
// its symlinks resolved.
func namedPath(file, prefix string) (string, bool) {
	line, ok := strings.CutPrefix(readLine(file), prefix)
	line = strings.TrimSpace(line)
	if !ok || line == "" {
		return "", false
	}
	if !filepath.IsAbs(line) {
		line = filepath.Join(filepath.Dir(file), line)
	}
	real, err := filepath.EvalSymlinks(line)
	return real, err == nil
}

// readLine returns the first line of a regular file, at most 4 KiB of it. It
// neither follows a link nor waits for a FIFO.
func readLine(file string) string {
	line, _, _ := bytes.Cut(readSmall(file, 4096), []byte("\n"))
	return string(line)
}

func readSmall(file string, limit int64) []byte {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), file)
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil
	}
	return data
}

// protectGitDir protects a git directory as a whole, the one it shares its
// configuration with, and with deep what belongs to it elsewhere.
func (b *builder) protectGitDir(dir string, deep bool) {
	if b.m.isRoot(dir) || zone.Within(b.m.Dir, dir) && !strings.HasSuffix(dir, ".git") {
		b.note("git: %s looks like a git directory and holds the current directory; it stays writable", dir)
		return
	}
	if _, done := b.inner[dir]; done && b.inner[dir].Kind == ReadOnly {
		return
	}
	if b.inSharedZone(dir) {
		b.protect(dir, "git directory")
	}
	if common, ok := namedPath(dir+"/commondir", ""); ok && common != dir {
		b.protectGitDir(common, deep)
	}
	if !deep {
		return
	}
	for _, w := range childDirs(dir + "/worktrees") {
		if file, ok := namedPath(w+"/gitdir", ""); ok && b.inSharedZone(file) {
			b.protectGitFile(file, false)
		}
	}
	b.submodules(filepath.Dir(dir))
}

// submodules protects the files that name the git directories of the
// submodules of the repository at top.
func (b *builder) submodules(top string) {
	sc := bufio.NewScanner(bytes.NewReader(readSmall(top+"/.gitmodules", 1<<20)))
	for sc.Scan() {
		key, value, ok := strings.Cut(sc.Text(), "=")
		if !ok || strings.TrimSpace(key) != "path" {
			continue
		}
		p := filepath.Join(top, strings.Trim(strings.TrimSpace(value), `"`))
		real, err := filepath.EvalSymlinks(p)
		if err != nil || real != p || !zone.Within(p, top) || p == top {
			continue
		}
		b.protectRepository(p, false)
	}
}

// looksBare reports whether git would take dir itself for a git directory.
func looksBare(dir string) bool {
	return exists(dir+"/HEAD") && exists(dir+"/objects") && exists(dir+"/refs")
}
