// Package zone says where work is free and which files in it the host later
// executes. It is plain data with matching functions: it opens nothing, so
// that whoever decides, mounts or explains shares one definition.
package zone

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// Source says where a root comes from.
type Source string

const (
	// SourceDefault is a root every host has. A missing one is left out.
	SourceDefault Source = "default"
	// SourceConfigured is a root of the settings file. A missing one is an error.
	SourceConfigured Source = "configured"
	// SourceBox is a root of the zone inside a box.
	SourceBox Source = "box"
)

// Root is one directory below which writing is free.
type Root struct {
	Path   string // absolute and clean
	Source Source
}

// CacheMode says what the cage's ~/.cache is.
type CacheMode string

const (
	// CacheOverlay reads the host's cache and writes to a layer of the cage's own.
	CacheOverlay CacheMode = "overlay"
	// CachePrivate is a directory of the cage's own that starts empty.
	CachePrivate CacheMode = "private"
	// CacheShared is the host's cache itself, writable.
	CacheShared CacheMode = "shared"
)

// Zone is the green zone. The zero value contains nothing.
type Zone struct {
	Home  string // absolute and clean
	Roots []Root // in order; may nest

	Cache      CacheMode // what ~/.cache is in the cage; empty means CacheOverlay
	PrivateTmp bool      // the cage gets a /tmp of its own
	Mask       []string  // absolute paths to hide besides those hidden anyway
}

// Default is the zone of a host without settings: ~/projects, /tmp, ~/.cache.
// home is absolute.
func Default(home string) Zone {
	home = path.Clean(home)
	return Zone{
		Home:  home,
		Cache: CacheOverlay,
		Roots: []Root{
			{path.Join(home, "projects"), SourceDefault},
			{"/tmp", SourceDefault},
			{path.Join(home, ".cache"), SourceDefault},
		},
	}
}

// Box is the zone inside a box: the project, /tmp, ~/.cache. home and project
// are absolute.
func Box(home, project string) Zone {
	home = path.Clean(home)
	return Zone{
		Home:  home,
		Cache: CacheOverlay,
		Roots: []Root{
			{path.Clean(project), SourceBox},
			{"/tmp", SourceBox},
			{path.Join(home, ".cache"), SourceBox},
		},
	}
}

// RootOf returns the innermost root that holds p: p itself or what is below
// it. p must be absolute and clean, and its symlinks already resolved where
// that matters; anything else is in no root. The comparison is exact, case
// included: on a file system that folds case this errs towards "outside".
func (z Zone) RootOf(p string) (Root, bool) {
	var best Root
	found := false
	if !path.IsAbs(p) || path.Clean(p) != p {
		return best, false
	}
	for _, r := range z.Roots {
		if Within(p, r.Path) && (!found || len(r.Path) > len(best.Path)) {
			best, found = r, true
		}
	}
	return best, found
}

// Contains reports whether p is in the zone; see RootOf.
func (z Zone) Contains(p string) bool {
	_, ok := z.RootOf(p)
	return ok
}

// CacheDir is ~/.cache, which the cage may not write through to the host and
// where file tools may not write.
func (z Zone) CacheDir() string { return path.Join(z.Home, ".cache") }

// ConfigDir is ~/.config/agent-cage, which no root may hold.
func (z Zone) ConfigDir() string { return path.Join(z.Home, ".config/agent-cage") }

// Within reports whether p is dir or below it; both absolute and clean.
func Within(p, dir string) bool {
	if dir == "/" {
		return strings.HasPrefix(p, "/")
	}
	return p == dir || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}

// overlaps reports whether one of the two holds the other.
func overlaps(a, b string) bool { return Within(a, b) || Within(b, a) }

// Validate refuses a zone that would give away what decides about it: a root
// that is not absolute and clean, that is or holds the home directory, that
// overlaps the settings or state of agent-cage, or that holds the system's
// own directories. Call it again after resolving the roots' symlinks.
func (z Zone) Validate() error {
	if !path.IsAbs(z.Home) || path.Clean(z.Home) != z.Home || z.Home == "/" {
		return fmt.Errorf("home directory %q is not an absolute, clean path", z.Home)
	}
	if len(z.Roots) == 0 {
		return errors.New("the zone has no root")
	}
	for _, r := range z.Roots {
		if err := z.validateRoot(r); err != nil {
			return err
		}
	}
	return nil
}

func (z Zone) validateRoot(r Root) error {
	switch {
	case !path.IsAbs(r.Path) || path.Clean(r.Path) != r.Path:
		return fmt.Errorf("zone root %q is not an absolute, clean path", r.Path)
	// A default root holds the home only where somebody put the home into
	// /tmp; the settings are then in the zone, which their reader refuses.
	case r.Source == SourceConfigured && Within(z.Home, r.Path):
		return fmt.Errorf("zone root %s holds the home directory", r.Path)
	}
	if r.Source != SourceConfigured {
		return nil
	}
	for _, own := range z.ownDirs() {
		if overlaps(r.Path, own) {
			return fmt.Errorf("zone root %s overlaps %s, which decides about the zone", r.Path, own)
		}
	}
	for _, sys := range systemDirs {
		if overlaps(r.Path, sys) {
			return fmt.Errorf("zone root %s overlaps the system directory %s", r.Path, sys)
		}
	}
	return nil
}

func (z Zone) ownDirs() []string {
	var dirs []string
	for _, d := range []string{
		".config/agent-cage", ".local/state/agent-cage", ".local/bin", ".local/libexec",
		".claude", ".codex", ".claude-box", ".codex-box", ".ssh", ".gnupg",
	} {
		dirs = append(dirs, path.Join(z.Home, d))
	}
	return dirs
}

var systemDirs = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc",
	"/run", "/sbin", "/sys", "/usr", "/nix", "/var/run", "/var/lib/docker",
}
