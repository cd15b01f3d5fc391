//go:build linux

package boxinit

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSettleLocales(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "usr/lib/locale")
	if err := os.MkdirAll(filepath.Join(dir, "fr_FR.utf8"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "locale-archive"), []byte("\x00de_DE.utf8\x00de_AT.utf8@euro\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"LANG=en_US.UTF-8", "LC_ALL=de_DE.UTF-8", "LC_TIME=fr_FR.UTF-8", "LC_A=C", "LC_B=C.UTF-8", "LC_C=POSIX",
		"LC_D=", "LC_E=../../../etc", "LC_F=de_AT.UTF-8@euro", "LC_G=de_DE", "LANGUAGE=xx", "TERM=none",
	}
	settleLocales(root, env)
	want := []string{
		"LANG=C.UTF-8", "LC_ALL=de_DE.UTF-8", "LC_TIME=fr_FR.UTF-8", "LC_A=C", "LC_B=C.UTF-8", "LC_C=POSIX",
		"LC_D=", "LC_E=C.UTF-8", "LC_F=de_AT.UTF-8@euro", "LC_G=C.UTF-8", "LANGUAGE=xx", "TERM=none",
	}
	if !slices.Equal(env, want) {
		t.Errorf("got  %q\nwant %q", env, want)
	}
}
