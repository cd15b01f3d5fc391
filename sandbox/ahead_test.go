//go:build linux

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWhoMounts(t *testing.T) {
	var rest []string
	for _, mt := range afterStage([]Mount{
		{Kind: ReadOnly, Target: "/"}, {Kind: Writable, Target: "/proceedings"}, {Kind: Dev, Target: "/dev"}, {Kind: Proc, Target: "/proc"},
		{Kind: ReadOnly, Target: "/proc/sys"}, {Kind: HideFile, Target: "/etc/shadow"}, {Kind: HideFile, Target: "/proc/kcore"},
	}) {
		rest = append(rest, mt.Target)
	}
	if want := []string{"/proc", "/proc/sys", "/proc/kcore"}; !slices.Equal(rest, want) {
		t.Errorf("bubblewrap mounts %q, want %q", rest, want)
	}
}

// What is mounted is what was planned, or nothing.
func TestSourceIsWhatWasPlanned(t *testing.T) {
	dir := resolved(t, t.TempDir())
	for _, d := range []string{"planned", "other", "up/planned"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	source := dir + "/planned"
	plan := func(p string) *planned {
		return &withIdentity([]Mount{{Kind: Writable, Source: p, Target: p, Checked: true}})[0]
	}
	m, below := plan(source), plan(dir+"/up/planned")
	exchange := func(p string, with func() error) {
		t.Helper()
		if err := errors.Join(os.Rename(p, p+".aside"), with()); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(name string, m *planned) {
		t.Helper()
		fd, err := m.open()
		if changed := (*exchangedError)(nil); !errors.As(err, &changed) {
			unix.Close(fd)
			t.Errorf("%s: error %v", name, err)
		}
	}
	exchange(source, func() error { return os.Symlink(dir+"/other", source) })
	refused("a link to another directory", m)
	if err := os.Remove(source); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(source, 0o700); err != nil {
		t.Fatal(err)
	}
	refused("another directory", m)
	exchange(dir+"/up", func() error { return os.Symlink(dir+"/up.aside", dir+"/up") })
	refused("the same directory by a link above it", below)
	if err := os.RemoveAll(source); err != nil {
		t.Fatal(err)
	}
	if _, err := m.open(); !errors.Is(err, unix.ENOENT) || stageComplaint(err) != complaintVanished+source {
		t.Errorf("a directory that is gone: %v", err)
	}
}

func resolved(t *testing.T, p string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		t.Fatal(err)
	}
	return real
}
