//go:build linux

package sandbox

import (
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPlaceholders(t *testing.T) {
	project := resolved(t, t.TempDir())
	m := &Machine{StateDir: t.TempDir()}
	if err := os.Mkdir(project+"/below", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(project+"/there", []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	var ps []Placeholder
	for _, name := range []string{"a", "b", "below/c", "there"} {
		ps = append(ps, Placeholder{Path: project + "/" + name})
	}
	ps = append(ps, Placeholder{Path: project + "/d", Dir: true})

	first, err := m.enter(project)
	if err != nil {
		t.Fatal(err)
	}
	if failed, err := first.create(ps); err != nil || len(failed) > 0 {
		t.Fatalf("failed %v, error %v", failed, err)
	}
	for _, name := range []string{"a", "b", "below/c"} {
		fi, err := os.Lstat(project + "/" + name)
		if err != nil || !fi.Mode().IsRegular() || fi.Mode().Perm() != 0o444 || fi.Size() != 0 {
			t.Fatalf("%s: %v, %v", name, fi, err)
		}
		if st, ok := fi.Sys().(*syscall.Stat_t); !ok || st.Nlink != 3 {
			t.Errorf("%s is no name of the one placeholder", name)
		}
	}
	second, err := m.enter(project)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.create(ps); err != nil {
		t.Fatal(err)
	}
	first.release()
	if !exists(project+"/a") || !exists(project+"/d") {
		t.Error("the first cage took the placeholders of the second away")
	}
	// What became a real file stays.
	if err := os.Remove(project + "/b"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(project+"/b", []byte("real"), 0o600); err != nil {
		t.Fatal(err)
	}
	second.release()
	for name, want := range map[string]bool{"a": false, "b": true, "below/c": false, "d": false, "there": true, "below": true} {
		if exists(project+"/"+name) != want {
			t.Errorf("%s is there: %v, want %v", name, !want, want)
		}
	}
}

// A file of the command's that takes the place of the first placeholder gets
// no other names.
func TestPlaceholderThatWasExchanged(t *testing.T) {
	dir := t.TempDir()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	mk := maker{dir: fd}
	if _, err := mk.make("a", false); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/new", []byte("evil"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+"/new", dir+"/a"); err != nil {
		t.Fatal(err)
	}
	if _, err := mk.make("b", false); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(dir + "/b"); err != nil || len(data) > 0 {
		t.Errorf("the placeholder holds %q, %v", data, err)
	}
}
