//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/zone"
)

// The cage's ~/.cache is made of slots: an overlay's upper layer may be
// mounted once at a time, so that cages at the same time take different ones.
// Alone, a cage always gets slot 0, which is how its cache lasts.
const maxSlots = 1024

// npmLayer is the layer over ~/.npm, which npm has instead of a directory in
// ~/.cache: without writing there it installs nothing.
const npmLayer = "npm-"

// slot is a cache layer that this cage holds.
type slot struct {
	dir  string
	lock *os.File // nil while the cage is only described
}

func (m *Machine) slotDir(n int) string {
	return filepath.Join(m.StateDir, "cache", strconv.Itoa(n))
}

// takeSlot takes the first free slot. Its lock file is given to bubblewrap,
// so that it is held for as long as anything of the cage lives.
func (m *Machine) takeSlot() (*slot, error) {
	for n := range maxSlots {
		dir := m.slotDir(n)
		for _, sub := range []string{"upper", "work", "private"} {
			for _, layer := range []string{"", npmLayer} {
				if err := os.MkdirAll(filepath.Join(dir, layer+sub), 0o700); err != nil {
					return nil, err
				}
			}
		}
		f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			return &slot{dir: dir, lock: f}, nil
		}
		f.Close()
	}
	return nil, refusedf("end some of the cages that run", "%d cages hold a cache layer", maxSlots)
}

// cacheMount decides what a cache of the host, ~/.cache or ~/.npm, is in the
// cage; layer begins the names of its own directories. The second result is
// what a person should know.
func (m *Machine) cacheMount(cache, layer string) (Mount, string) {
	if m.Zone.Cache == zone.CacheShared {
		return Mount{Kind: Writable, Source: cache, Target: cache, Checked: true, Reason: "zone: the host's cache, by settings"}, ""
	}
	dir := m.slotDir(0)
	if m.Slot != nil {
		dir = m.Slot.dir
	}
	private := Mount{Kind: Writable, Source: filepath.Join(dir, layer+"private"), Target: cache, Reason: "a cache of the cage's own"}
	if m.Zone.Cache == zone.CachePrivate {
		return private, ""
	}
	if why := m.overlayRefusal(cache, dir); why != "" {
		return private, cache + ": the host's cannot be read below a layer of the cage's own (" + why + "); the cage has a private one"
	}
	return Mount{Kind: Overlay, Source: cache, Target: cache,
		Upper: filepath.Join(dir, layer+"upper"), Work: filepath.Join(dir, layer+"work"),
		Reason: "reads the host's cache, writes to a layer of the cage's own"}, ""
}

// overlayRefusal says why this machine cannot lay the cage's layer over the
// host's cache; empty if it can.
func (m *Machine) overlayRefusal(cache, dir string) string {
	if why := m.stageRefusal(); why != "" {
		return "the kernel refused: " + why
	}
	for _, p := range []string{cache, dir} {
		var st unix.Statfs_t
		for unix.Statfs(p, &st) != nil && p != "/" {
			p = filepath.Dir(p)
		}
		if st.Type == unix.OVERLAYFS_SUPER_MAGIC {
			return p + " is itself on an overlay"
		}
	}
	return ""
}
