//go:build linux

package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
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
