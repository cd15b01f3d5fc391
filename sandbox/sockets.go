//go:build linux

package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// sockets hides the sockets of host programs that the cage would see. The
// kernel names those that are bound; directories where they are usual are
// hidden whole, for what is bound later.
func (b *builder) sockets() error {
	for _, s := range socketDirs {
		p := s.path
		if strings.Contains(p, "%d") {
			p = fmt.Sprintf(p, b.m.UID)
		}
		b.socketDir(p, s.held, s.reason)
	}
	if dirs, err := filepath.Glob("/tmp/ssh-*"); err == nil {
		for _, p := range dirs {
			b.socketDir(p, false, "ssh agent")
		}
	}
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		b.note("sockets: /proc/net/unix cannot be read; those in the zone are not hidden")
		return nil
	}
	defer f.Close()
	var relative []string
	for sc := bufio.NewScanner(f); sc.Scan(); {
		p := socketPath(sc.Text())
		switch {
		case p == "" || p[0] == '@':
		case p[0] == '/':
			b.hideSocket(p)
		default:
			relative = append(relative, p)
		}
	}
	if len(relative) > 0 {
		b.relativeSockets(relative)
	}
	return nil
}

// socketDir hides a directory of sockets behind one of the cage's own, in
// which servers of the cage can make theirs.
func (b *builder) socketDir(p string, held bool, reason string) {
	if _, host := b.shared(p); !host {
		return
	}
	fi, err := os.Lstat(p)
	switch {
	case err == nil && fi.IsDir():
	case os.IsNotExist(err) && held:
		b.d.Placeholders = append(b.d.Placeholders, Placeholder{Path: p, Dir: true, Kept: true, Reason: reason})
	default:
		return
	}
	b.pinAbove(p)
	b.hidden[p] = Mount{Kind: Empty, Target: p, Perms: 0o700, Reason: reason}
}

// socketPath returns the path in a line of /proc/net/unix: the eighth field,
// which may hold blanks.
func socketPath(line string) string {
	for range 7 {
		line = strings.TrimLeft(line, " ")
		i := strings.IndexByte(line, ' ')
		if i < 0 {
			return ""
		}
		line = line[i:]
	}
	p := strings.TrimPrefix(line, " ")
	if p == "Path" {
		return ""
	}
	return p
}

// hideSocket hides a bound socket where the cage sees it. Names outlive their
// files, and a file may have been put in their place.
func (b *builder) hideSocket(p string) {
	real := b.realDir(filepath.Dir(p))
	if real == "" {
		return
	}
	real = filepath.Join(real, filepath.Base(p))
	fi, err := os.Lstat(real)
	if err == nil && fi.Mode()&os.ModeSymlink != 0 {
		if real, err = filepath.EvalSymlinks(real); err == nil {
			fi, err = os.Lstat(real)
		}
	}
	if err != nil || fi.Mode()&os.ModeSocket == 0 {
		return
	}
	b.hideFound(real, false, "socket of a host program")
}

// realDir returns a directory without the links on the way to it; empty if it
// is not there. A host has many sockets in few directories.
func (b *builder) realDir(dir string) string {
	real, ok := b.realDirs[dir]
	if !ok {
		real, _ = filepath.EvalSymlinks(dir)
		b.realDirs[dir] = real
	}
	return real
}

// relativeSockets finds sockets that were bound by a relative name: it is
// relative to the directory of the process that bound it.
func (b *builder) relativeSockets(names []string) {
	dirs := map[string]bool{b.m.Dir: true}
	procs, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, p := range procs {
		if dir, err := os.Readlink(p); err == nil {
			dirs[dir] = true
		}
	}
	for dir := range dirs {
		for _, name := range names {
			b.hideSocket(filepath.Join(dir, name))
		}
	}
}
