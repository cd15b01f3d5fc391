package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "file")
	for _, content := range []string{"one", "", "three"} {
		if err := Write(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("got %q, %v, want %q", got, err, content)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("got %v, %v, want mode 0600", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v, want the file alone", entries, err)
	}
}

func TestFailureLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "directory")
	if err := os.MkdirAll(filepath.Join(target, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(target, nil); err == nil {
		t.Error("a directory is replaced")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v, want nothing beside it", entries, err)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	living, err := create(dir, "living")
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	dead, err := create(dir, "dead")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close() // as the end of its process does
	for _, name := range []string{"file", "other.new"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dead.Name()); err == nil {
		t.Error("the file of a dead writer is left")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("got %v, %v, want the living writer's and the two others", entries, err)
	}
	if err := Sweep(filepath.Join(dir, "missing")); err != nil {
		t.Error(err)
	}
}
