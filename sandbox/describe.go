//go:build linux

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/agent-cage/agent-cage/zone"
)

// Options are what the caller asks for.
type Options struct {
	// Command is the program and its arguments.
	Command []string
	// PrivateTmp gives the cage a /tmp of its own.
	PrivateTmp bool
	// KeepEnv are variables that stay whatever they are called.
	KeepEnv []string
	// AllowUserns lets the command make namespaces of its own.
	AllowUserns bool
	// Git says that Command is a git command that may write its git directory.
	Git bool
}

// Where things are inside every cage.
const (
	startPath  = "/run/sbox/start"
	ignorePath = "/run/sbox/ignore"
	refusePath = "/run/sbox/refuse-signing"
)

// Describe decides a cage. It looks at the machine and changes nothing. Its
// errors are of type RefusedError.
func Describe(m *Machine, o Options) (*Description, error) {
	b := newBuilder(m, o)
	b.closed = m.searchRootOnly()
	steps := []func() error{b.roots, b.git, b.later, b.system, b.secrets, b.sockets, b.directory, b.environment}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	b.assemble()
	return b.d, nil
}

var namespaces = []Namespace{
	{"user", "no capability outside the cage"},
	{"pid", "no process outside can be seen or signalled"},
	{"net", "no network but loopback, no abstract sockets"},
	{"ipc", "no shared memory or queues of the host"},
	{"uts", "the host's name cannot be changed"},
	{"cgroup", "the host's cgroups are not named"},
}

// builder collects the mounts of a cage by the stage in which they are made:
// what is hidden comes after everything that could uncover it.
type builder struct {
	m *Machine
	o Options
	d *Description

	writable []Mount          // the zone's roots
	inner    map[string]Mount // inside the zone, by target
	fixed    []Mount          // /dev, /proc, /run
	hidden   map[string]Mount // by target
	shown    []Mount          // inside what the stages before emptied
	repoTop  string           // top of the repository of the current directory
	project  string           // top of the current project; empty at a zone root
	held     map[string]bool  // names in it that other cages hold

	closed    *rootOnlySearch
	absent    *absences
	unreached map[string]bool // by directory: the cage cannot look into it
	realDirs  map[string]string
}

func newBuilder(m *Machine, o Options) *builder {
	return &builder{m: m, o: o, d: &Description{
		Command:    o.Command,
		Dir:        m.Dir,
		Bubblewrap: m.Bubblewrap,
		Namespaces: namespaces,
		Seccomp:    refusals(o.AllowUserns),
		Notes:      append([]string(nil), m.Notes...),
	}, inner: map[string]Mount{}, hidden: map[string]Mount{}, absent: newAbsences(), unreached: map[string]bool{}, realDirs: map[string]string{}}
}

func (b *builder) note(format string, args ...any) {
	b.d.Notes = append(b.d.Notes, fmt.Sprintf(format, args...))
}

// assemble puts the stages in order; within one, parents come first.
func (b *builder) assemble() {
	d := b.d
	b.dropPins()
	d.Mounts = append(d.Mounts, Mount{Kind: ReadOnly, Source: "/", Target: "/", Reason: "the host's files, read-only"})
	d.Mounts = append(d.Mounts, b.writable...)
	d.Mounts = append(d.Mounts, byPath(b.inner)...)
	d.Mounts = append(d.Mounts, b.fixed...)
	d.Mounts = append(d.Mounts, byPath(b.hidden)...)
	d.Mounts = append(d.Mounts, b.shown...)
}

// dropPins takes away the pins inside what is read-only: nothing can be
// renamed there, and the pin would make it writable again.
func (b *builder) dropPins() {
	for p, m := range b.inner {
		if m.Kind != Pin {
			continue
		}
		for dir := filepath.Dir(p); dir != "/"; dir = filepath.Dir(dir) {
			up, ok := b.inner[dir]
			if ok && up.Kind == ReadOnly {
				delete(b.inner, p)
			}
			if ok && up.Kind != Pin {
				break
			}
		}
	}
}

func byPath(set map[string]Mount) []Mount {
	out := make([]Mount, 0, len(set))
	for _, m := range set {
		out = append(out, m)
	}
	sort.Slice(out, func(i, j int) bool { return lessPath(out[i].Target, out[j].Target) })
	return out
}

// lessPath orders a directory before everything below it.
func lessPath(a, b string) bool {
	return strings.ReplaceAll(a, "/", "\x00") < strings.ReplaceAll(b, "/", "\x00")
}

// roots makes the zone writable.
func (b *builder) roots() error {
	z := b.m.Zone
	roots := append([]zone.Root(nil), z.Roots...)
	sort.SliceStable(roots, func(i, j int) bool { return lessPath(roots[i].Path, roots[j].Path) })
	for _, r := range roots {
		switch {
		case r.Path == z.CacheDir():
			b.cache(r.Path, "")
			if npm := z.Home + "/.npm"; z.Cache != zone.CacheShared && !z.Contains(npm) {
				b.cache(npm, npmLayer)
			}
		case r.Path == "/tmp" && (z.PrivateTmp || b.o.PrivateTmp):
			b.writable = append(b.writable, Mount{Kind: Empty, Target: "/tmp", Perms: 0o1777, Reason: "a /tmp of the cage's own"})
		default:
			b.writable = append(b.writable, Mount{Kind: Writable, Source: r.Path, Target: r.Path, Checked: true, Reason: "zone (" + string(r.Source) + ")"})
		}
	}
	if b.o.PrivateTmp && !z.Contains("/tmp") {
		b.writable = append(b.writable, Mount{Kind: Empty, Target: "/tmp", Perms: 0o1777, Reason: "a /tmp of the cage's own"})
	}
	return nil
}

// cache makes a cache of the host one that the cage can write, if it is there.
func (b *builder) cache(p, layer string) {
	if fi, err := os.Lstat(p); err != nil || !fi.IsDir() {
		return
	}
	m, note := b.m.cacheMount(p, layer)
	b.writable = append(b.writable, m)
	if note != "" {
		b.note("%s", note)
	}
}

// shared reports whether p is in a part of the zone that the host shares with
// the cage, and in which root.
func (b *builder) shared(p string) (zone.Root, bool) {
	r, ok := b.m.Zone.RootOf(p)
	if !ok {
		return r, false
	}
	for _, m := range b.writable {
		if m.Target == r.Path {
			return r, m.Kind == Writable
		}
	}
	return r, false
}

// protect makes p, which lies in the zone, read-only, and every directory
// between the zone's root and it a mount, so that none can be moved aside.
func (b *builder) protect(p, reason string) {
	b.inner[p] = Mount{Kind: ReadOnly, Source: p, Target: p, Checked: true, Reason: reason}
	b.pinAbove(p)
}

func (b *builder) pinAbove(p string) {
	r, ok := b.shared(p)
	if !ok {
		return
	}
	for dir := filepath.Dir(p); dir != r.Path && zone.Within(dir, r.Path); dir = filepath.Dir(dir) {
		if _, ok := b.inner[dir]; !ok {
			b.inner[dir] = Mount{Kind: Pin, Source: dir, Target: dir, Checked: true, Reason: "keeps what lies below in its place"}
		}
	}
}

// hide puts something empty in the place of p, if p is there. A symlink is
// followed: what it leads to is hidden.
func (b *builder) hide(p, reason string) {
	if b.absent.of(p) {
		return
	}
	fi, err := os.Lstat(p)
	if err != nil {
		return
	}
	if fi.Mode()&os.ModeSymlink != 0 {
		if p, err = filepath.EvalSymlinks(p); err != nil {
			return
		}
		if fi, err = os.Lstat(p); err != nil || p == "/" || p == b.m.Home {
			return
		}
	}
	b.hideFound(p, fi.IsDir(), reason)
}

func (b *builder) hideFound(p string, isDir bool, reason string) {
	if b.isHidden(p) || b.closedToCage(filepath.Dir(p)) {
		return
	}
	kind := HideFile
	if isDir {
		kind = HideDir
	}
	if r, ok := b.m.Zone.RootOf(p); ok {
		if _, host := b.shared(p); !host && r.Path == "/tmp" {
			return // a private /tmp does not have it
		}
		b.pinAbove(p)
	}
	b.hidden[p] = Mount{Kind: kind, Target: p, Reason: reason}
}

// isHidden reports whether p lies in something that is hidden already.
func (b *builder) isHidden(p string) bool {
	for dir := p; ; dir = filepath.Dir(dir) {
		if _, ok := b.hidden[dir]; ok {
			return true
		}
		for _, m := range b.fixed {
			if m.Target == dir && dir != "/proc" {
				return true
			}
		}
		if dir == "/" || dir == "." {
			return false
		}
	}
}

// secrets hides what the lists name, and refuses a zone that lies in it.
func (b *builder) secrets() error {
	for _, s := range systemSecrets {
		b.hide(s.path, s.reason)
	}
	homes := []string{b.m.Home}
	if b.m.OtherHome != "" {
		homes = append(homes, b.m.OtherHome)
	}
	moved := []struct{ below, env string }{
		{".config/", "XDG_CONFIG_HOME"}, {".local/share/", "XDG_DATA_HOME"}, {".local/state/", "XDG_STATE_HOME"}, {".cache/", "XDG_CACHE_HOME"},
	}
	for _, s := range secrets {
		for _, home := range homes {
			b.hide(home+"/"+s.path, s.reason)
		}
		for _, x := range moved {
			if rest, ok := strings.CutPrefix(s.path, x.below); ok {
				b.hideNamed(b.m.Getenv(x.env), rest, s.reason)
			}
		}
		if s.env != "" {
			b.hideNamed(b.m.Getenv(s.env), s.rest, s.reason)
		}
	}
	for _, p := range b.m.Zone.Mask {
		b.hide(p, "settings")
	}
	b.hide(b.m.StateDir, "agent-cage's state")
	b.dotenv()
	b.rootOnly()
	for _, r := range b.m.Zone.Roots {
		if b.isHidden(r.Path) {
			return refusedf("take it out of the zone", "zone root %s lies in a place that the cage hides", r.Path)
		}
	}
	return nil
}

// hideNamed hides what a variable names, unless that holds everything else.
func (b *builder) hideNamed(value, rest, reason string) {
	for _, p := range filepath.SplitList(value) {
		if !filepath.IsAbs(p) {
			continue
		}
		p = filepath.Join(p, rest)
		if zone.Within(b.m.Home, p) || zone.Within(b.m.Dir, p) || strings.Count(p, "/") < 2 {
			continue
		}
		b.hide(p, reason)
	}
}

// directory refuses a current directory that the cage does not show.
func (b *builder) directory() error {
	real, err := filepath.EvalSymlinks(b.m.Dir)
	if err != nil {
		return &RefusedError{Cause: "the current directory cannot be used", Fix: "cd to another one", Err: err}
	}
	private := false
	if r, ok := b.m.Zone.RootOf(real); ok && r.Path == "/tmp" {
		_, host := b.shared(real)
		private = !host && real != "/tmp"
	}
	if private || b.isHidden(real) || zone.Within(real, "/proc") {
		return refusedf("cd to another one", "the current directory, %s, is not visible in the cage", b.m.Dir)
	}
	return nil
}
