package zonefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-cage/agent-cage/zone"
)

// home returns a home directory that no default root holds.
func home(t *testing.T) string {
	t.Helper()
	base := "/var/tmp"
	dir, err := os.MkdirTemp(base, "zonefile")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func write(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

func TestAbsentMeansDefaults(t *testing.T) {
	h := home(t)
	z, err := LoadFrom(h, filepath.Join(h, "etc"))
	if err != nil || len(z.Roots) != 3 || z.Roots[0].Path != h+"/projects" {
		t.Errorf("got %+v, %v", z, err)
	}
}

func TestParse(t *testing.T) {
	const h = "/home/u"
	z, err := parse([]byte("roots = ['~/code', '/srv/x/']\ncache = 'shared'\nprivate-tmp = true\nmask = ['~/notes']\n"), "zone.toml", h, false)
	if err != nil {
		t.Fatal(err)
	}
	if !z.Contains("/home/u/code/a") || !z.Contains("/srv/x/y") || !z.Contains("/tmp/x") ||
		z.Cache != zone.CacheShared || !z.PrivateTmp || len(z.Mask) != 1 || z.Mask[0] != "/home/u/notes" {
		t.Errorf("got %+v", z)
	}
	for text, want := range map[string]string{
		"root = ['/srv/x']":          "unknown key root",
		"Roots = ['/srv/x']":         `unknown key "Roots"`,
		"[a]\nb=1":                   "unknown key a",
		"roots = 'x'":                "line 1",
		"roots = [1]":                "line 1",
		"roots = ['srv']":            "neither absolute",
		"roots = ['~']":              "neither absolute",
		"roots = ['~root/x']":        "neither absolute",
		"roots = ['/srv/../etc']":    "contains ..",
		"roots = ['~/../v']":         "contains ..",
		"roots = [\"/srv/a\\nb\"]":   "control character",
		"roots = ['/home']":          "holds the home",
		"roots = ['/']":              "holds the home",
		"roots = ['~/.config']":      "decides about the zone",
		"cache = 'none'":             "not overlay",
		"private-tmp = 'yes'":        "line 1",
		"mask = ['x']":               "neither absolute",
		"project = '/srv/p'":         "only root's file",
		"roots = ['/srv/x'":          "line 1",
		"roots=['/a']\nroots=['/b']": "zone.toml",
		"\xff":                       "zone.toml",
	} {
		_, err := parse([]byte(text), "zone.toml", h, false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: the error is not one line: %q", text, err)
		}
	}
}

func TestRootsFileMakesABox(t *testing.T) {
	z, err := parse([]byte("project = '/srv/p'"), "zone.toml", "/home/u", true)
	if err != nil {
		t.Fatal(err)
	}
	if !z.Contains("/srv/p/x") || z.Contains("/home/u/projects/x") || !z.Contains("/tmp/x") {
		t.Errorf("got %+v", z)
	}
	if _, err := parse([]byte("project = 'p'"), "zone.toml", "/home/u", true); err == nil {
		t.Error("a relative project is accepted")
	}
}

func TestSystemFileAloneCounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can write root's file")
	}
	h := home(t)
	etc := filepath.Join(h, "etc")
	write(t, filepath.Join(etc, Name), "project = '/srv/p'", 0o644)
	write(t, filepath.Join(h, ".config/agent-cage", Name), "broken", 0o600)
	z, err := LoadFrom(h, etc)
	if err != nil || !z.Contains("/srv/p") {
		t.Errorf("got %+v, %v", z, err)
	}
}

func TestReadOwnedRefuses(t *testing.T) {
	uid := os.Geteuid()
	h := home(t)
	name := filepath.Join(h, "d", "f")
	if _, err := ReadOwned(name, uid); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	write(t, name, "x", 0o600)
	if data, err := ReadOwned(name, uid); err != nil || string(data) != "x" {
		t.Errorf("good file: %q, %v", data, err)
	}
	refused := func(what, want string) {
		t.Helper()
		if _, err := ReadOwned(name, uid); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", what, err, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Chmod(name, 0o620))
	refused("group-writable", "writable by others")
	must(os.Chmod(name, 0o602))
	refused("world-writable", "writable by others")
	must(os.Chmod(name, 0o600))
	must(os.Chmod(filepath.Dir(name), 0o777))
	refused("in a world-writable directory", "writable by others")
	must(os.Chmod(filepath.Dir(name), 0o755))
	must(os.Chmod(h, 0o777))
	refused("below a world-writable directory", "writable by others")
	must(os.Chmod(h, 0o755))
	must(os.Truncate(name, maxSize+1))
	refused("too large", "larger than")
	must(os.Remove(name))
	must(syscall.Mkfifo(name, 0o600))
	refused("a FIFO", "not a regular file")
	must(os.Remove(name))
	must(os.Mkdir(name, 0o700))
	refused("a directory", "not a regular file")
	must(os.Remove(name))

	open := filepath.Join(h, "open")
	must(os.Mkdir(open, 0o777))
	must(os.Chmod(open, 0o777))
	write(t, filepath.Join(open, "f"), "x", 0o600)
	must(os.Symlink(filepath.Join(open, "f"), name))
	refused("a symlink into a world-writable directory", "writable by others")

	if uid == 0 {
		must(os.Remove(name))
		write(t, name, "x", 0o600)
		must(os.Chown(name, 4242, 4242))
		refused("somebody else's", "owned by uid 4242")
	}
}

func TestSettingsInsideTheZone(t *testing.T) {
	h := home(t)
	target := filepath.Join(h, "projects/dotfiles/zone.toml")
	write(t, target, "private-tmp = true", 0o600)
	name := filepath.Join(h, ".config/agent-cage", Name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadFrom(h, filepath.Join(h, "etc")); err == nil || !strings.Contains(err.Error(), "inside the zone root") {
		t.Errorf("a symlink into the zone: %v", err)
	}
}
