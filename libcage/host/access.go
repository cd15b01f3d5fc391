package host

import (
	"io/fs"
	"os"
	"syscall"
)

// Access is what the permissions of a directory let somebody do.
type Access uint8

// The bits are those of a mode.
const (
	Enter Access = 1 << iota
	Write
	Read
)

// AccessByGroup returns what only a supplementary group lets a caller do in a
// directory, and which group that is. A box has the caller's own group and no
// other. Access lists are not looked at.
func AccessByGroup(dir string, c *Caller, groups []int) (only Access, group uint32) {
	info, err := os.Stat(dir)
	if err != nil || c.UID == 0 {
		return 0, 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == c.UID || stat.Gid == c.GID {
		return 0, 0
	}
	for _, g := range groups {
		if uint32(g) == stat.Gid {
			return byGroup(info.Mode()), stat.Gid
		}
	}
	return 0, 0
}

// byGroup is what a mode lets the group do and others not.
func byGroup(mode fs.FileMode) Access {
	perm := mode.Perm()
	return Access((perm >> 3 & 7) &^ (perm & 7))
}
