//go:build linux

package sandbox

import (
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// closedToCage reports whether the cage cannot look into dir because it, or
// one above it, belongs to somebody else who keeps others out. Root gets in
// outside by a capability; inside there is none, so that nothing there needs
// a mask, and bubblewrap could not mount one.
func (m *Machine) closedToCage(dir string) bool {
	if m.UID != 0 {
		return false // what an ordinary user cannot look into was not found
	}
	for ; ; dir = filepath.Dir(dir) {
		var st unix.Stat_t
		if unix.Stat(dir, &st) == nil && !m.maySearch(&st, dir) {
			return true
		}
		if dir == "/" || dir == "." {
			return false
		}
	}
}

// closedToCage asks once for each directory.
func (b *builder) closedToCage(dir string) bool {
	closed, ok := b.unreached[dir]
	if !ok {
		closed = b.m.closedToCage(dir)
		b.unreached[dir] = closed
	}
	return closed
}

// maySearch is the kernel's test without capabilities. A directory with an
// access list is taken for open: a mask too many fails, one too few is a leak.
func (m *Machine) maySearch(st *unix.Stat_t, dir string) bool {
	switch {
	case int(st.Uid) == m.UID:
		return st.Mode&unix.S_IXUSR != 0
	case hasAccessList(dir):
		return true
	case m.inGroup(int(st.Gid)):
		return st.Mode&unix.S_IXGRP != 0
	}
	return st.Mode&unix.S_IXOTH != 0
}

func hasAccessList(dir string) bool {
	n, err := unix.Getxattr(dir, "system.posix_acl_access", nil)
	return err == nil && n > 0
}

func (m *Machine) inGroup(gid int) bool {
	if gid == m.GID {
		return true
	}
	groups, err := unix.Getgroups()
	return err != nil || slices.Contains(groups, gid)
}
