//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAbsencesDoubtWhatMayBeThere(t *testing.T) {
	dir := t.TempDir()
	makeFile(t, dir+"/plain/.netrc")
	makeFile(t, dir+"/plain/sub/file")
	makeFile(t, dir+"/loud/.NETRC")
	makeFile(t, dir+"/foreign/é")
	if err := os.Symlink("plain", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		path   string
		absent bool
		local  bool // only where the file system is one that lists all
	}{
		{"plain/.netrc", false, false},
		{"plain/sub/file", false, false},
		{"link/.netrc", false, false},
		{"loud/.netrc", false, false},    // may be the same name
		{"foreign/.netrc", false, false}, // é may be ignored or folded: ask
		{"plain/.ssh", true, true},
		{"plain/gone/.ssh/key", true, true},
		{"link/.ssh", true, true},
		{"plain/.netrc/inner", false, false}, // not a directory: ask
	}
	a := newAbsences()
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		want := tt.absent && (!tt.local || listsAll(int64(fs.Type)))
		if got := a.of(filepath.Join(dir, tt.path)); got != want {
			t.Errorf("absences.of(%s) = %v, want %v", tt.path, got, want)
		}
	}
	if a.of("/proc/self") {
		t.Error("/proc/self is taken for absent")
	}
}

func TestListOfADirectoryIsWhole(t *testing.T) {
	dir := t.TempDir()
	const many = 3000
	for i := range many {
		if err := os.WriteFile(filepath.Join(dir, "a-name-that-is-somewhat-long-"+string(rune('a'+i%26))+filepath.Base(dir)+strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("x", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	entries, whole := (&dirReader{}).list(fd)
	if !whole || len(entries) != many+1 {
		t.Errorf("%d entries, whole: %v; want %d", len(entries), whole, many+1)
	}
	for _, e := range entries {
		if !exists(filepath.Join(dir, e.name)) && e.name != "link" {
			t.Fatalf("there is no %q", e.name)
		}
	}
}
