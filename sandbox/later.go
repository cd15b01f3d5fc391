//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-cage/agent-cage/zone"
)

// unheld are names whose empty placeholder would itself change what programs
// do. They are compared afterwards instead.
var unheld = map[string]bool{".git": true, ".hg": true, ".jj": true}

// later makes what the host executes later read-only where it is on the way
// from the zone's root to the current directory, and holds what is absent at
// the top of the project.
func (b *builder) later() error {
	if b.d.Git != nil && writesTree[b.d.Git.Command] {
		return nil
	}
	dir, err := filepath.EvalSymlinks(b.m.Dir)
	if err != nil {
		return nil
	}
	root, ok := b.shared(dir)
	if !ok {
		return nil
	}
	var held map[string]bool
	if b.project != "" && b.m.entered != nil {
		if held, err = b.m.entered(b.project); err != nil {
			return &RefusedError{Cause: "the state of the project's cages cannot be kept", Fix: "make " + b.m.StateDir + " writable", Err: err}
		}
	}
	b.held = held
	b.d.Project = b.project
	names := zone.Names()
	for d := dir; zone.Within(d, root.Path); d = filepath.Dir(d) {
		top := d == b.project
		for _, l := range names {
			if l.Where != zone.HomeTop && l.Name != ".git" {
				b.laterAt(d, l, top)
			}
		}
		if top || d == dir {
			b.laterByEnding(d, names)
		}
		if d == root.Path {
			break
		}
	}
	return nil
}

func (b *builder) laterAt(dir string, l zone.Later, top bool) {
	p := dir + "/" + l.Name
	if strings.HasPrefix(l.Name, "*") {
		return
	}
	fi, err := os.Lstat(p)
	reason := "executed later by " + l.By
	switch {
	case err == nil && top && b.held[l.Name]:
		b.holdAt(p, fi.IsDir(), reason)
	case err == nil && fi.Mode()&os.ModeSymlink != 0:
		b.watch(p, reason)
		if real, err := filepath.EvalSymlinks(p); err == nil && b.inSharedZone(real) && !b.m.isRoot(real) && !zone.Within(dir, real) {
			b.protect(real, reason)
		}
	case err == nil && (fi.IsDir() || fi.Mode().IsRegular()):
		if _, done := b.inner[p]; !done {
			b.protect(p, reason)
		}
	case err == nil:
		b.watch(p, reason)
	case top && os.IsNotExist(err) && unheld[l.Name]:
		b.watch(p, reason)
	case top && os.IsNotExist(err):
		b.hold(dir, l, reason)
	}
}

// hold puts a placeholder at the first missing element of a name.
func (b *builder) hold(dir string, l zone.Later, reason string) {
	elements := strings.Split(l.Name, "/")
	p := dir
	for i, e := range elements {
		p += "/" + e
		fi, err := os.Lstat(p)
		if err == nil && !fi.IsDir() {
			return
		}
		if err == nil && !b.held[strings.Join(elements[:i+1], "/")] {
			continue
		}
		b.holdAt(p, l.Dir || i < len(elements)-1, reason)
		return
	}
}

func (b *builder) holdAt(p string, isDir bool, reason string) {
	for _, ph := range b.d.Placeholders {
		if ph.Path == p {
			return
		}
	}
	b.d.Placeholders = append(b.d.Placeholders, Placeholder{Path: p, Dir: isDir, Reason: reason})
	b.inner[p] = Mount{Kind: ReadOnly, Source: p, Target: p, Reason: reason}
	b.pinAbove(p)
}

// laterByEnding protects the files of a directory that the list knows by the
// end of their name.
func (b *builder) laterByEnding(dir string, names []zone.Later) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	entries, _ := f.Readdirnames(maxZoneEntries)
	for _, l := range names {
		ext, ok := strings.CutPrefix(l.Name, "*")
		if !ok {
			continue
		}
		for _, e := range entries {
			if strings.HasSuffix(strings.ToLower(e), ext) {
				b.laterAt(dir, zone.Later{Name: e, By: l.By}, false)
			}
		}
	}
}
