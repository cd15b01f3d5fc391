package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func me() Owner { return Owner{uint32(os.Getuid()), uint32(os.Getgid())} }

func open(t *testing.T, home string) *Dir {
	t.Helper()
	d, err := Open(home, ".claude-box/state", me())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestRoundTrip(t *testing.T) {
	home := t.TempDir()
	d := open(t, home)
	if _, err := d.ReadFile("x.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: got %v, want fs.ErrNotExist", err)
	}
	for _, content := range []string{"one", "two"} {
		if err := d.WriteFile("x.json", []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := d.ReadFile("x.json"); err != nil || string(got) != content {
			t.Errorf("got %q, %v, want %q", got, err, content)
		}
	}
	for path, want := range map[string]fs.FileMode{".claude-box": 0o700 | fs.ModeDir, ".claude-box/state": 0o700 | fs.ModeDir, ".claude-box/state/x.json": 0o600} {
		if info, err := os.Stat(filepath.Join(home, path)); err != nil || info.Mode() != want {
			t.Errorf("%s: got %v, %v, want mode %v", path, info, err, want)
		}
	}
}

// The box owns the directory's content, so each of these is an attempt to
// make the launcher read or write elsewhere, or wait.
func TestHostileContent(t *testing.T) {
	home := t.TempDir()
	d := open(t, home)
	secret := filepath.Join(home, "secret")
	dir := filepath.Join(home, ".claude-box/state")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	must(t, os.Symlink(secret, filepath.Join(dir, "abs")))
	must(t, os.Symlink("../../secret", filepath.Join(dir, "rel")))
	must(t, os.Symlink(home, filepath.Join(dir, "sub")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "dir"), 0o700))
	for _, name := range []string{"abs", "rel", "sub/secret", "fifo", "dir"} {
		if got, err := d.ReadFile(name); err == nil {
			t.Errorf("%s: read %q, want an error", name, got)
		}
	}
	must(t, os.Symlink(secret, filepath.Join(dir, "a.new")))
	must(t, d.WriteFile("a", []byte("mine")))
	must(t, d.WriteFile("abs", []byte("mine")))
	if got, err := os.ReadFile(secret); err != nil || string(got) != "secret" {
		t.Errorf("a file outside became %q, %v", got, err)
	}
	if got, err := d.ReadFile("abs"); err != nil || string(got) != "mine" {
		t.Errorf("got %q, %v, want the link replaced", got, err)
	}
}

func TestUnusable(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(home string) error
		want    string
	}{
		{"link", func(h string) error { return os.Symlink(h, filepath.Join(h, ".claude-box")) }, "symbolic link"},
		{"file", func(h string) error { return os.WriteFile(filepath.Join(h, ".claude-box"), nil, 0o600) }, "is not a directory"},
		{"no home", os.Remove, "cannot be opened"},
	}
	for _, tt := range tests {
		home := filepath.Join(t.TempDir(), "home")
		must(t, os.Mkdir(home, 0o700))
		must(t, tt.prepare(home))
		_, err := Open(home, ".claude-box/state", me())
		var unusable *UnusableError
		if !errors.As(err, &unusable) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestAnothersDirectory(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	home := t.TempDir()
	must(t, os.Mkdir(filepath.Join(home, ".claude-box"), 0o700))
	must(t, os.Chown(filepath.Join(home, ".claude-box"), 12345, 12345))
	if _, err := Open(home, ".claude-box/state", me()); err == nil || !strings.Contains(err.Error(), "belongs to user 12345") {
		t.Errorf("got %v, want it refused", err)
	}
}

// What root makes for somebody else is that one's.
func TestForAnother(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	home := t.TempDir()
	must(t, os.Chown(home, 12345, 54321))
	d, err := Open(home, ".claude-box/state", Owner{12345, 54321})
	must(t, err)
	defer d.Close()
	must(t, d.WriteFile("x", nil))
	for _, path := range []string{".claude-box", ".claude-box/state", ".claude-box/state.lock", ".claude-box/state/x"} {
		info, err := os.Lstat(filepath.Join(home, path))
		must(t, err)
		if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 12345 || stat.Gid != 54321 {
			t.Errorf("%s belongs to %d:%d", path, stat.Uid, stat.Gid)
		}
	}
}

// A directory that was given to whom a box runs as may lie in one that was not.
func TestGivenToAnother(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	home := t.TempDir()
	open(t, home).Close()
	must(t, os.Chown(filepath.Join(home, ".claude-box/state"), 12345, 12345))
	d, err := Open(home, ".claude-box/state", Owner{12345, 12345})
	must(t, err)
	d.Close()
	if _, err := Open(home, ".claude-box/state", Owner{54321, 54321}); err == nil || !strings.Contains(err.Error(), "belongs to user 12345 and not to user 54321") {
		t.Errorf("got %v, want it refused", err)
	}
}

func TestAppendLine(t *testing.T) {
	home := t.TempDir()
	d := open(t, home)
	const limit = 100
	for i := range 100 {
		must(t, d.AppendLine("lines", fmt.Sprintf("line %02d", i), limit))
		data, err := d.ReadFile("lines")
		must(t, err)
		if !strings.HasSuffix(string(data), fmt.Sprintf("line %02d\n", i)) || !strings.HasPrefix(string(data), "line ") || len(data) > limit+8 {
			t.Fatalf("after line %d: %q", i, data)
		}
		if i > 0 && !strings.Contains(string(data), fmt.Sprintf("line %02d\n", i-1)) {
			t.Fatalf("the line before %d is gone: %q", i, data)
		}
	}
	// What a box may have put there.
	dir := filepath.Join(home, ".claude-box/state")
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "other"), []byte("mine"), 0o600))
	must(t, os.Symlink("other", filepath.Join(dir, "link")))
	must(t, os.MkdirAll(filepath.Join(dir, "dir/sub"), 0o700))
	for _, name := range []string{"pipe", "link", "dir"} {
		must(t, d.AppendLine(name, "x", limit))
		if data, err := d.ReadFile(name); err != nil || string(data) != "x\n" {
			t.Errorf("%s: got %q, %v", name, data, err)
		}
	}
	if data, err := d.ReadFile("other"); err != nil || string(data) != "mine" {
		t.Errorf("a link was followed: %q, %v", data, err)
	}
}

func TestLock(t *testing.T) {
	home := t.TempDir()
	d := open(t, home)
	second := make(chan error)
	go func() {
		d, err := Open(home, ".claude-box/state", me())
		if err == nil {
			err = d.Close()
		}
		second <- err
	}()
	select {
	case err := <-second:
		t.Fatalf("opened twice at once: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	must(t, d.Close())
	must(t, <-second)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
