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
		"LANG=en_US.UTF-8", "LC_ALL=de_DE.UTF-8", "LC_TIME=fr_FR.UTF-8", "LC_COLLATE=C", "LC_CTYPE=C.UTF-8", "LC_MESSAGES=POSIX",
		"LC_NAME=", "LC_PAPER=../../../etc", "LC_MONETARY=de_AT.UTF-8@euro", "LC_NUMERIC=de_DE", "LANGUAGE=xx", "TERM=none", "LC_TERMINAL=iTerm2",
	}
	settleLocales(root, env)
	want := []string{
		"LANG=C.UTF-8", "LC_ALL=de_DE.UTF-8", "LC_TIME=fr_FR.UTF-8", "LC_COLLATE=C", "LC_CTYPE=C.UTF-8", "LC_MESSAGES=POSIX",
		"LC_NAME=", "LC_PAPER=C.UTF-8", "LC_MONETARY=de_AT.UTF-8@euro", "LC_NUMERIC=C.UTF-8", "LANGUAGE=xx", "TERM=none", "LC_TERMINAL=iTerm2",
	}
	if !slices.Equal(env, want) {
		t.Errorf("got  %q\nwant %q", env, want)
	}
}
