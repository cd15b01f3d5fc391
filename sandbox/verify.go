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
	mayWrite := map[string]bool{}
	for i := range o.Mounts {
		m := &o.Mounts[i]
		mayWrite[m.Target] = mayWrite[m.Target] || m.Kind.writable()
		var st unix.Stat_t
		if m.Checked && (unix.Lstat(m.Target, &st) != nil || !m.is(&st)) {
			return changedError(m.Target)
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
		if slices.Contains(opts, "ro") || mayWrite[at] || harmless(at, root) || !reachable(at, f[2]) {
			continue
		}
		return refusedf("", "the cage has a writable mount at %s that was not planned", at)
	}
	for _, m := range o.Mounts {
		if m.Checked && !mounted[m.Target] {
			return changedError(m.Target)
		}
	}
	return nil
}

// exchangedError is a path that is no longer what was planned.
type exchangedError struct{ path string }

func (e *exchangedError) Error() string {
	return e.path + " was exchanged while the cage was being built; run it again"
}

func changedError(p string) error { return &exchangedError{p} }

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
