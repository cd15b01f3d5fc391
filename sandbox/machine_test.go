//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDatabaseHome(t *testing.T) {
	file := filepath.Join(t.TempDir(), "passwd")
	text := "root:x:0:0::/root:/bin/sh\nbroken\na:x:7:7::relative:/bin/sh\nb:x:8:8::/home/b:/bin/sh\nc:x:8:8::/home/c:/bin/sh\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[int]string{0: "/root", 7: "", 8: "/home/b", 9: ""} {
		if got := databaseHome(file, uid); got != want {
			t.Errorf("uid %d: %q, want %q", uid, got, want)
		}
	}
	if got := databaseHome(file+"x", 0); got != "" {
		t.Errorf("without a database: %q", got)
	}
}

func TestOtherHome(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ listed, home, want string }{
		{"", "/home/a", ""}, // a caller whom the database does not have
		{dir, "/home/a", dir},
		{link, "/home/a", dir},
		{link, dir, ""},
		{"/", "/home/a", ""},
		{dir + "/nonesuch", "/home/a", ""},
	}
	for _, tt := range tests {
		if got := otherHome(tt.listed, tt.home); got != tt.want {
			t.Errorf("listed %q, HOME %q: %q, want %q", tt.listed, tt.home, got, tt.want)
		}
	}
}

func TestAbsencesOfRelativePath(t *testing.T) {
	for _, p := range []string{"", ".", "nonesuch", "./.ssh", "../x"} {
		if newAbsences().of(p) {
			t.Errorf("%q certainly does not exist", p)
		}
	}
}
