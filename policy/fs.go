package policy

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// Stat is what the classifier wants to know about a file.
type Stat struct {
	Mode  fs.FileMode
	UID   uint32
	Links uint64 // how many names it has; 0 if unknown
}

// FS answers questions about files without following symlinks. A missing
// file's error satisfies fs.ErrNotExist.
type FS interface {
	Lstat(name string) (Stat, error)
	Readlink(name string) (string, error)
}

// place is a path after resolving its symlinks.
type place struct {
	path   string // absolute and clean
	exists bool
	stat   Stat // of the file, if it exists
}

var (
	errRelative = errors.New("not an absolute path")
	errLoop     = errors.New("too many symlinks")
	errDotDot   = errors.New("leads through .. in a directory that does not exist")
	errNotDir   = errors.New("leads through a file")
)

// resolve follows the symlinks of an absolute, clean path up to its last
// existing element and leaves the rest as it is.
func (c *Classifier) resolve(name string) (place, error) {
	if !path.IsAbs(name) {
		return place{}, errRelative
	}
	done := "/"
	rest := strings.TrimPrefix(name, "/")
	links := 0
	var st Stat
	for rest != "" {
		var elem string
		elem, rest, _ = strings.Cut(rest, "/")
		switch elem {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, elem)
		var err error
		st, err = c.w.FS.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if hasDotDot(rest) {
				return place{}, errDotDot
			}
			return place{path: path.Join(next, rest)}, nil
		case errors.Is(err, syscall.ENOTDIR):
			return place{}, errNotDir
		case err != nil:
			return place{}, err
		}
		if st.Mode&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > 40 {
			return place{}, errLoop
		}
		target, err := c.w.FS.Readlink(next)
		if err != nil {
			return place{}, err
		}
		if path.IsAbs(target) {
			done = "/"
		}
		rest = target + "/" + rest
	}
	if done != name || st.Mode == 0 {
		var err error
		if st, err = c.w.FS.Lstat(done); err != nil {
			return place{}, err
		}
	}
	return place{path: done, exists: true, stat: st}, nil
}

func hasDotDot(p string) bool {
	for p != "" {
		var elem string
		if elem, p, _ = strings.Cut(p, "/"); elem == ".." {
			return true
		}
	}
	return false
}

// trusted says why others could have changed the executable at an absolute
// path, "" if they could not: it has to be a regular, executable file outside
// the zone, it and every directory above it owned by the user or root and not
// writable by others.
func (c *Classifier) trusted(name string) (place, string) {
	if !path.IsAbs(name) || path.Clean(name) != name {
		return place{}, name + " is not an absolute, clean path"
	}
	p, err := c.resolve(name)
	switch {
	case err != nil:
		return p, name + ": " + err.Error()
	case !p.exists:
		return p, name + " does not exist"
	case !p.stat.Mode.IsRegular() || p.stat.Mode&0o111 == 0:
		return p, name + " is not an executable file"
	case c.w.Zone.Contains(name) || c.w.Zone.Contains(p.path):
		return p, name + " is inside the zone"
	case !c.owned(p.stat) || p.stat.Mode&0o022 != 0:
		return p, name + " belongs to, or is writable by, others"
	}
	for _, start := range []string{name, p.path} {
		for dir := path.Dir(start); ; dir = path.Dir(dir) {
			st, err := c.w.FS.Lstat(dir)
			if err != nil {
				return p, dir + ": " + err.Error()
			}
			if st.Mode&fs.ModeSymlink == 0 && (!c.owned(st) || st.Mode&0o002 != 0 && st.Mode&fs.ModeSticky == 0) {
				return p, dir + " belongs to, or is writable by, others"
			}
			if dir == "/" {
				break
			}
		}
	}
	return p, ""
}

func (c *Classifier) owned(st Stat) bool { return st.UID == c.w.UID || st.UID == 0 }
