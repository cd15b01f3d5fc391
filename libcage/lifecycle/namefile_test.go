package lifecycle

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

func TestNameFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "name")
	f := NameFile{Path: path, Box: "claude-box-app-x"}
	if err := os.WriteFile(path, []byte("an old one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.Publish(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	if text, _ := os.ReadFile(path); string(text) != "claude-box-app-x\n" {
		t.Errorf("content %q", text)
	}
	if err := f.Remove(); err != nil {
		t.Error(err)
	}
	if err := f.Remove(); err != nil {
		t.Errorf("second removal: %v", err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A reader sees nothing, or all of a name.
func TestNameFileIsNeverTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "name")
	var writers sync.WaitGroup
	for _, box := range []string{"box-a", "a-much-longer-name-of-a-box"} {
		writers.Go(func() {
			for range 200 {
				if err := (NameFile{Path: path, Box: box}).Publish(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for {
		text, err := os.ReadFile(path)
		if err == nil && string(text) != "box-a\n" && string(text) != "a-much-longer-name-of-a-box\n" {
			t.Fatalf("torn: %q", text)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

func TestNameFileKeepsWhatIsNotItsOwn(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("box\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	link, fifo := filepath.Join(dir, "link"), filepath.Join(dir, "fifo")
	if err := errors.Join(os.Symlink(secret, link), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, link, fifo} {
		f := NameFile{Path: path, Box: "box"}
		if err := f.Publish(); err == nil {
			t.Errorf("%s: published over what is no regular file", path)
		}
		if err := f.Remove(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s was removed", path)
		}
	}
}

func TestNameFileUnwritable(t *testing.T) {
	f := NameFile{Path: filepath.Join(t.TempDir(), "missing", "name"), Box: "box"}
	if err := f.Publish(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := f.Remove(); err != nil {
		t.Errorf("removal: %v", err)
	}
}

// What a launcher that was killed while it published has left goes with its box.
func TestNameFileHalfPublished(t *testing.T) {
	path := filepath.Join(t.TempDir(), "name")
	f := NameFile{Path: path, Box: "box"}
	if err := os.WriteFile(f.temporary(), []byte("bo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(f.temporary()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}
