//go:build linux

package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// verify compares the finished cage with the plan. Between plan and mount a
// command in another cage may have put a symlink in the place of a directory
// of the zone: what bubblewrap then mounted is not what was decided.
func (o *order) verify(mountinfo string) error {
	for _, c := range o.Checks {
		var st unix.Stat_t
		err := unix.Lstat(c.Path, &st)
		if err != nil || uint64(st.Dev) != c.Dev || st.Ino != c.Ino {
			return changedError(c.Path)
		}
	}
	data, err := os.ReadFile(mountinfo)
	if err != nil {
		return &RefusedError{Cause: "the cage's mounts cannot be verified", Err: err}
	}
	mounted := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		f := strings.Fields(line)
		if len(f) < 6 {
			return refusedf("", "the cage's mounts cannot be verified: %q", line)
		}
		root, at, opts := unescapeMount(f[3]), unescapeMount(f[4]), strings.Split(f[5], ",")
		mounted[at] = true
		if slices.Contains(opts, "ro") || slices.Contains(o.Writable, at) || harmless(at, root) || !reachable(at, f[2]) {
			continue
		}
		return refusedf("", "the cage has a writable mount at %s that was not planned", at)
	}
	for _, c := range o.Checks {
		if !mounted[c.Path] {
			return changedError(c.Path)
		}
	}
	return nil
}

func changedError(p string) error {
	return refusedf("run it again", "%s was exchanged while the cage was being built", p)
}

// harmless knows the writable mounts that every cage has: its own /dev, /proc
// and terminals, and devices, which are no file systems.
func harmless(at, root string) bool {
	if at == "/proc" || at == "/dev" || strings.HasPrefix(at, "/dev/") {
		return true
	}
	return root == "/null" || strings.HasSuffix(root, "/dev/null")
}

// reachable reports whether the mount at a path is what the path leads to, and
// not something that lies below a mask or in a directory that is closed.
func reachable(at, dev string) bool {
	var st unix.Stat_t
	if unix.Lstat(at, &st) != nil {
		return false
	}
	return fmt.Sprintf("%d:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev))) == dev
}

// unescapeMount undoes the octal escapes of /proc/PID/mountinfo.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#").Replace(s)
}
