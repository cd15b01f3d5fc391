//go:build linux

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/zone"
)

const fixInstall = "install bubblewrap 0.8.0 or later (apt install bubblewrap, dnf install bubblewrap)"

// FindBubblewrap returns the first bubblewrap on PATH. One that caged code
// could have written, or that is too old, is refused rather than passed over:
// something is wrong with this PATH.
func FindBubblewrap(m *Machine) (Bubblewrap, error) {
	path, err := lookBubblewrap(m)
	if err != nil {
		return Bubblewrap{}, err
	}
	version, err := bubblewrapVersion(path, filepath.Join(m.StateDir, "bubblewrap"))
	if err != nil {
		return Bubblewrap{}, &RefusedError{Cause: path + " does not run", Fix: fixInstall, Err: err}
	}
	bw := Bubblewrap{Path: path, Version: version}
	if !bw.atLeast(0, 8) {
		return Bubblewrap{}, refusedf(fixInstall, "%s is bubblewrap %s, too old", path, version)
	}
	return bw, nil
}

func lookBubblewrap(m *Machine) (string, error) {
	for _, dir := range filepath.SplitList(m.Getenv("PATH")) {
		p := filepath.Join(dir, "bwrap")
		if !filepath.IsAbs(p) {
			p = filepath.Join(m.Dir, p)
		}
		fi, err := os.Stat(p)
		if err != nil || !fi.Mode().IsRegular() || unix.Access(p, unix.X_OK) != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			continue
		}
		for _, q := range []string{p, real} {
			if r, ok := m.Zone.RootOf(q); ok {
				return "", refusedf("take "+dir+" out of PATH", "the first bwrap on PATH, %s, is inside the zone (%s), where caged commands write", q, r.Path)
			}
		}
		if st, ok := fi.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != m.UID {
			return "", refusedf("take "+dir+" out of PATH", "%s belongs to another user", p)
		}
		return real, nil
	}
	return "", refusedf(fixInstall, "bubblewrap (bwrap) is not on PATH")
}

// bubblewrapVersion asks the program, and remembers the answer in cache for
// as long as the file stays the same: asking costs a third of a cage.
func bubblewrapVersion(path, cache string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", err
	}
	key := fmt.Sprintf("%s %d %d %d %d ", path, st.Dev, st.Ino, st.Size, st.Ctim.Nano())
	if b, err := os.ReadFile(cache); err == nil {
		if v, ok := strings.CutPrefix(string(b), key); ok {
			return v, nil
		}
	}
	cmd := exec.Command(path, "--version")
	cmd.Env = []string{}
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	version := strings.TrimPrefix(strings.TrimSpace(string(out)), "bubblewrap ")
	if os.MkdirAll(filepath.Dir(cache), 0o700) == nil {
		writeAtomically(cache, []byte(key+version))
	}
	return version, nil
}

// writeAtomically replaces a file as a whole. Failing is no harm: what is
// kept in this way is asked for again.
func writeAtomically(name string, data []byte) {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
}

// atLeast compares major and minor version. What is no version is too old.
func (b Bubblewrap) atLeast(major, minor int) bool {
	p := strings.SplitN(b.Version, ".", 3)
	if len(p) < 2 {
		return false
	}
	x, err1 := strconv.Atoi(p[0])
	y, err2 := strconv.Atoi(p[1])
	if err1 != nil || err2 != nil {
		return false
	}
	return x > major || x == major && y >= minor
}

// Arguments returns the options by which bubblewrap alone would build the cage,
// those that are descriptors left out.
func (d *Description) Arguments() []string { return d.arguments(d.Mounts) }

func (d *Description) arguments(mounts []Mount) []string {
	args := []string{"--die-with-parent", "--cap-drop", "ALL"}
	for _, n := range d.Namespaces {
		args = append(args, "--unshare-"+n.Name)
	}
	for _, m := range mounts {
		args = append(args, m.arguments()...)
	}
	return append(args, "--chdir", d.Dir)
}

func (m Mount) arguments() []string {
	switch m.Kind {
	case ReadOnly:
		return []string{"--ro-bind", m.Source, m.Target}
	case Writable, Pin:
		return []string{"--bind", m.Source, m.Target}
	case Device:
		return []string{"--dev-bind", m.Source, m.Target}
	case Empty:
		return []string{"--perms", strconv.FormatUint(uint64(m.Perms), 8), "--tmpfs", m.Target}
	case HideFile:
		return []string{"--dev-bind", "/dev/null", m.Target}
	case HideDir:
		return []string{"--perms", "555", "--tmpfs", m.Target}
	case Proc:
		return []string{"--proc", m.Target}
	case Dev:
		return []string{"--dev", m.Target}
	case Overlay:
		return []string{"--overlay-src", m.Source, "--overlay", m.Upper, m.Work, m.Target}
	case Symlink:
		return []string{"--symlink", m.Source, m.Target}
	}
	return nil
}

// inZone reports whether caged code could write p.
func inZone(z zone.Zone, p string) bool { return z.Contains(filepath.Clean(p)) }
