//go:build linux

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
)

// Bounds of what is kept for putting it back, per git directory.
const (
	maxControlFiles = 20000
	maxControlBytes = 64 << 20
)

// gitGuard is a git directory's control files as they were before a git
// command, and where git found them.
type gitGuard struct {
	access *GitAccess
	dotGit fileID // .git of the repository's top
	dirs   []guardedDir
}

type guardedDir struct {
	path string
	id   fileID
	old  map[string]kept
}

// fileID says which file a path leads to.
type fileID struct {
	ok       bool
	dev, ino uint64
	mode     uint32
	content  string // of a file that names a git directory
}

// kept is a file as it was: enough to put it back.
type kept struct {
	mode fs.FileMode
	data []byte
	link string
}

func identify(p string) fileID {
	var st unix.Stat_t
	if unix.Lstat(p, &st) != nil {
		return fileID{}
	}
	id := fileID{ok: true, dev: uint64(st.Dev), ino: st.Ino, mode: st.Mode & unix.S_IFMT}
	switch id.mode {
	case unix.S_IFREG:
		id.content = string(readSmall(p, 4096))
	case unix.S_IFLNK:
		id.content, _ = os.Readlink(p)
	}
	return id
}

// guardGit remembers what decides about git. It fails where that is more than
// it would put back.
func guardGit(a *GitAccess) (*gitGuard, error) {
	if a == nil || a.Dir == "" {
		return nil, nil
	}
	g := &gitGuard{access: a, dotGit: identify(a.Top + "/.git")}
	dirs := []string{a.Dir}
	if a.Common != a.Dir {
		dirs = append(dirs, a.Common)
	}
	for _, dir := range dirs {
		old, err := readControl(dir)
		if err != nil {
			return nil, &RefusedError{Cause: "the control files of " + dir + " cannot be kept", Err: err}
		}
		g.dirs = append(g.dirs, guardedDir{path: dir, id: identify(dir), old: old})
	}
	return g, nil
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

// objectsOf are the parts of a submodule's git directory that hold no control
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

// compare puts back what the command changed, and says it.
func (g *gitGuard) compare() []string {
	if g == nil {
		return nil
	}
	var said []string
	say := func(format string, args ...any) { said = append(said, "git: "+fmt.Sprintf(format, args...)) }
	if now := identify(g.access.Top + "/.git"); now != g.dotGit {
		g.restoreDotGit(now, say)
	}
	for _, d := range g.dirs {
		d.compare(g.access, say)
	}
	return said
}

// restoreDotGit undoes that another git directory resolves.
func (g *gitGuard) restoreDotGit(now fileID, say func(string, ...any)) {
	top, err := openDir(g.access.Top)
	if err != nil {
		say("WARNING: %s is gone", g.access.Top)
		return
	}
	defer unix.Close(top)
	if now.ok {
		aside, err := setAside(top, ".git")
		if err != nil {
			say("WARNING: %s/.git is another one and cannot be moved aside: %v", g.access.Top, err)
			return
		}
		say("%s/.git was exchanged; set aside as %s", g.access.Top, aside)
	}
	switch g.dotGit.mode {
	case unix.S_IFREG:
		err = writeAt(top, ".git", []byte(g.dotGit.content), 0o644)
	case unix.S_IFLNK:
		err = unix.Symlinkat(g.dotGit.content, top, ".git")
	default:
		if g.dotGit.ok {
			say("WARNING: %s/.git is not the directory that it was", g.access.Top)
		}
		return
	}
	if err != nil {
		say("WARNING: %s/.git cannot be put back: %v", g.access.Top, err)
	}
}

func (d *guardedDir) compare(a *GitAccess, say func(string, ...any)) {
	now := identify(d.path)
	if now != d.id {
		say("WARNING: %s is not the directory that it was", d.path)
		return
	}
	current, err := readControl(d.path)
	if err != nil {
		say("WARNING: the control files of %s cannot be compared: %v", d.path, err)
		return
	}
	dir, err := openDir(d.path)
	if err != nil {
		say("WARNING: %s cannot be opened: %v", d.path, err)
		return
	}
	defer unix.Close(dir)
	for _, rel := range sortedNames(d.old, current) {
		was, had := d.old[rel]
		is, has := current[rel]
		if had == has && was.mode == is.mode && was.link == is.link && bytes.Equal(was.data, is.data) || d.allowed(a, rel, was, is, had, has) {
			continue
		}
		if had && is.mode.IsDir() && was.mode.IsDir() {
			continue // its entries are compared one by one
		}
		if err := putBack(dir, rel, was, had, has); err != nil {
			say("WARNING: %s/%s was changed and cannot be put back: %v", d.path, rel, err)
			continue
		}
		say("%s/%s was changed; undone", d.path, rel)
	}
	for _, name := range []string{"objects", "refs"} {
		if unix.Mkdirat(dir, name, 0o755) == nil {
			say("%s/%s was removed; git would have looked for another repository", d.path, name)
		}
	}
}

// allowed knows the changes that git itself makes.
func (d *guardedDir) allowed(a *GitAccess, rel string, was, is kept, had, has bool) bool {
	switch {
	case rel == "HEAD":
		return has && is.mode.IsRegular() && validHead(string(is.data))
	case rel == "config":
		return a.Config && had && has && is.mode.IsRegular() && acceptConfig(string(was.data), string(is.data))
	case strings.HasPrefix(rel, "worktrees/"):
		if !has {
			return true // pruned
		}
		if had {
			return false
		}
		switch filepath.Base(rel) {
		case "commondir":
			return string(is.data) == "../..\n"
		case "gitdir":
			return is.mode.IsRegular() && filepath.Base(strings.TrimSpace(string(is.data))) == ".git"
		}
	case (rel == "hooks" || rel == "modules" || rel == "branches" || rel == "remotes") && !had:
		return false
	}
	return false
}

// validHead reports whether git takes the file for a HEAD.
func validHead(s string) bool {
	s = strings.TrimSpace(s)
	if ref, ok := strings.CutPrefix(s, "ref:"); ok {
		return strings.HasPrefix(strings.TrimSpace(ref), "refs/")
	}
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

func sortedNames(a, b map[string]kept) []string {
	var out []string
	for n := range a {
		out = append(out, n)
	}
	for n := range b {
		if _, ok := a[n]; !ok {
			out = append(out, n)
		}
	}
	sort.Strings(out)
	return out
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
