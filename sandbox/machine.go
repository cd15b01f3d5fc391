//go:build linux

package sandbox

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agent-cage/agent-cage/zone"
	"github.com/agent-cage/agent-cage/zone/zonefile"
)

// Machine is what a description depends on besides the options: who calls,
// from where, and what is there.
type Machine struct {
	UID, GID int
	// Home is the caller's home directory with its symlinks resolved.
	Home string
	// OtherHome is the home directory of the user database where that is
	// another one; its secrets are hidden too.
	OtherHome string
	// StateDir is where sbox keeps what outlives a run.
	StateDir string
	// Dir is the current directory as the caller names it.
	Dir string
	// Environ is the caller's environment.
	Environ []string
	// Zone is the green zone with its roots checked and resolved.
	Zone zone.Zone
	// Exe is this program.
	Exe string
	// Bubblewrap builds the cage.
	Bubblewrap Bubblewrap
	// Slot is the cache layer of this cage; nil while it is only described.
	Slot *slot
	// entered is called when the current project is known, and returns the
	// names in it that are placeholders of other cages. nil while a cage is
	// only described.
	entered func(project string) (map[string]bool, error)
	// Ignored are the signals that the caller ignores, a bit each.
	Ignored uint64
	// Notes are what a person should know about the zone.
	Notes []string
}

// Getenv returns the value of a variable of the caller.
func (m *Machine) Getenv(name string) string {
	for i := len(m.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(m.Environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// ReadMachine looks at this machine. Its errors are of type RefusedError.
func ReadMachine(environ []string) (*Machine, error) {
	m := &Machine{UID: os.Geteuid(), GID: os.Getegid(), Environ: environ}
	if err := m.readHome(); err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, &RefusedError{Cause: "the current directory is gone", Fix: "cd to one that exists", Err: err}
	}
	m.Dir = dir
	m.Exe, err = os.Readlink("/proc/self/exe")
	if err != nil || strings.HasSuffix(m.Exe, " (deleted)") {
		return nil, &RefusedError{Cause: "cannot find this program's own file", Fix: "install sbox again and see that /proc is mounted", Err: err}
	}
	z, err := zonefile.Load(m.Home)
	if err != nil {
		return nil, &RefusedError{Cause: "the zone's settings are refused", Err: err}
	}
	if err := m.resolveZone(z); err != nil {
		return nil, err
	}
	m.Bubblewrap, err = FindBubblewrap(m)
	return m, err
}

// readHome finds the home directory. A cage hides what lies in it, so that a
// wrong one is no small thing: it must be there, and the user database's own
// answer is hidden as well.
func (m *Machine) readHome() error {
	home := m.Getenv("HOME")
	if home == "" {
		return refusedf("set HOME", "HOME is not set, and what is secret in it cannot be hidden")
	}
	if !filepath.IsAbs(home) {
		return refusedf("set HOME to an absolute path", "HOME is %q, not an absolute path", home)
	}
	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		return &RefusedError{Cause: "HOME cannot be used", Fix: "set HOME to your home directory", Err: err}
	}
	if fi, err := os.Stat(real); err != nil || !fi.IsDir() || real == "/" {
		return refusedf("set HOME to your home directory", "HOME is %q, not a home directory", home)
	}
	m.Home = real
	m.OtherHome = otherHome(databaseHome("/etc/passwd", m.UID), real)
	m.StateDir = filepath.Join(m.Home, ".local/state/agent-cage/sbox")
	if x := m.Getenv("XDG_STATE_HOME"); filepath.IsAbs(x) {
		m.StateDir = filepath.Join(filepath.Clean(x), "agent-cage/sbox")
	}
	return nil
}

// otherHome resolves the user database's home directory; empty if the database
// has none for the caller, or the same one as HOME.
func otherHome(listed, home string) string {
	if listed == "" {
		return ""
	}
	real, err := filepath.EvalSymlinks(listed)
	if err != nil || real == home || real == "/" {
		return ""
	}
	return real
}

// databaseHome returns the home directory of a uid by the user database.
func databaseHome(file string, uid int) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		p := strings.Split(sc.Text(), ":")
		if len(p) >= 7 && p[2] == strconv.Itoa(uid) && filepath.IsAbs(p[5]) {
			return p[5]
		}
	}
	return ""
}

// resolveZone keeps the roots that are there. A default root that is missing
// is left out; a configured one that is missing, and any that a symlink leads
// elsewhere, is refused.
func (m *Machine) resolveZone(z zone.Zone) error {
	const fix = "correct ~/.config/agent-cage/zone.toml or make it a directory"
	roots := z.Roots
	z.Roots = nil
	var elsewhere []zone.Root
	for _, r := range roots {
		fi, err := os.Lstat(r.Path)
		if os.IsNotExist(err) && r.Source == zone.SourceDefault {
			m.Notes = append(m.Notes, "zone: "+r.Path+" does not exist and is left out")
			continue
		}
		if os.IsNotExist(err) && r.Source == zone.SourceBox && r.Path == z.CacheDir() {
			m.Notes = append(m.Notes, "zone: "+r.Path+" does not exist and is left out")
			continue
		}
		if err != nil {
			return &RefusedError{Cause: "zone root " + r.Path + " cannot be used", Fix: fix, Err: err}
		}
		real, err := filepath.EvalSymlinks(r.Path)
		if err != nil {
			return &RefusedError{Cause: "zone root " + r.Path + " cannot be used", Fix: fix, Err: err}
		}
		if real != r.Path {
			elsewhere = append(elsewhere, zone.Root{Path: real, Source: r.Source})
			m.Notes = append(m.Notes, "zone: "+r.Path+" is a symlink to "+real)
			continue
		}
		if !fi.IsDir() {
			return refusedf(fix, "zone root %s is not a directory", r.Path)
		}
		z.Roots = append(z.Roots, r)
	}
	for _, r := range elsewhere {
		if !z.Contains(r.Path) {
			return refusedf("name the directory itself in ~/.config/agent-cage/zone.toml, or move it",
				"a zone root leads out of the zone through a symlink, to %s", r.Path)
		}
	}
	for _, r := range z.Roots {
		if r.Source == zone.SourceConfigured && m.OtherHome != "" && zone.Within(m.OtherHome, r.Path) {
			return refusedf(fix, "zone root %s holds the home directory", r.Path)
		}
	}
	if len(z.Roots) == 0 {
		return refusedf("make ~/projects", "nothing of the zone exists")
	}
	m.Zone = z
	return nil
}
