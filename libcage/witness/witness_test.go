package witness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// dir makes a directory with files, all of them changed at a given time.
func dir(t *testing.T, at time.Time, files ...string) string {
	t.Helper()
	d := t.TempDir()
	for _, f := range files {
		path := filepath.Join(d, f)
		must(t, os.WriteFile(path, []byte(f), 0o600))
		must(t, os.Chtimes(path, at, at))
	}
	must(t, os.Chtimes(d, at, at))
	return d
}

func TestCheck(t *testing.T) {
	then := time.Unix(1_700_000_000, 123_456_789)
	later := then.Add(time.Hour)
	touch := func(t *testing.T, d string) { must(t, os.Chtimes(d, later, later)) }
	tests := []struct {
		name  string
		seen  func(t *testing.T, noted string) string
		files []string
		same  bool
	}{
		{"the same", func(_ *testing.T, d string) string { return d }, []string{"a"}, true},
		{"the same, empty", func(_ *testing.T, d string) string { return d }, nil, true},
		{"changed meanwhile", func(t *testing.T, d string) string {
			must(t, os.WriteFile(filepath.Join(d, "new"), nil, 0o600))
			return d
		}, []string{"a", "b"}, true},
		{"times cut to seconds", func(t *testing.T, d string) string {
			must(t, os.Chtimes(d, then.Truncate(time.Second), then.Truncate(time.Second)))
			return d
		}, nil, true},
		{"another, empty", func(t *testing.T, _ string) string { return dir(t, later) }, []string{"a"}, false},
		{"both empty, another", func(t *testing.T, _ string) string { return dir(t, later) }, nil, false},
		{"a copy made later", func(t *testing.T, _ string) string { return dir(t, later, "a", "b") }, []string{"a", "b"}, false},
		{"other files of the same time", func(t *testing.T, _ string) string {
			d := dir(t, then, "x", "y")
			touch(t, d)
			return d
		}, []string{"a", "b"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			noted := dir(t, then, tt.files...)
			w, err := Take(noted)
			must(t, err)
			err = w.Check(tt.seen(t, noted))
			var mismatch *MismatchError
			if tt.same && err != nil || !tt.same && !errors.As(err, &mismatch) {
				t.Errorf("got %v, want the same: %t", err, tt.same)
			}
		})
	}
}

func TestManyEntries(t *testing.T) {
	d := t.TempDir()
	for i := range 3 * maxEntries {
		must(t, os.WriteFile(filepath.Join(d, fmt.Sprint(i)), nil, 0o600))
	}
	w, err := Take(d)
	must(t, err)
	if len(w.Entries) != maxEntries {
		t.Errorf("noted %d entries, want %d", len(w.Entries), maxEntries)
	}
	must(t, os.WriteFile(filepath.Join(d, "new"), nil, 0o600))
	must(t, w.Check(d))
}

func TestMissing(t *testing.T) {
	if _, err := Take("/nonexistent"); err == nil {
		t.Error("a missing directory is noted")
	}
	if err := (Witness{}).Check("/nonexistent"); err == nil {
		t.Error("a missing directory is the same")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
