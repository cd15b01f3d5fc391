package image

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// later is a clock on which every file of the test has long been unchanged.
func later() time.Time { return time.Now().Add(time.Hour) }

func TestDigestCache(t *testing.T) {
	dir := t.TempDir()
	file, cache := filepath.Join(dir, "file"), filepath.Join(dir, "state", "digests.json")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sum := func(now func() time.Time) string {
		t.Helper()
		c := openDigestCache(cache, now)
		sum, err := c.digest(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.save(); err != nil {
			t.Fatal(err)
		}
		return sum
	}
	const a, b = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"
	put("a")
	if got := sum(time.Now); got != a {
		t.Fatal(got)
	}
	if text, err := os.ReadFile(cache); err == nil {
		t.Errorf("a file that was just written was remembered: %s", text)
	}
	if got := sum(later); got != a {
		t.Fatal(got)
	}
	text, err := os.ReadFile(cache)
	if err != nil || !strings.Contains(string(text), a) {
		t.Fatalf("%s, %v", text, err)
	}

	// A remembered digest is used: it is the cache's that comes out.
	forged := strings.ReplaceAll(string(text), a, b)
	if err := os.WriteFile(cache, []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := sum(later); got != b {
		t.Errorf("the file was read again: %s", got)
	}

	// Same size, same mtime, other content: ctime tells.
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	put("b")
	if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if got := sum(later); got != b {
		t.Error(got)
	}
	put("a")
	if got := sum(later); got != a {
		t.Error(got)
	}

	for _, broken := range []string{"", "{", "null", "[]", `{"` + file + `":{"sha256":"short"}}`, "\x00\xff"} {
		if err := os.WriteFile(cache, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := sum(later); got != a {
			t.Errorf("with the cache %q: %s", broken, got)
		}
	}
	if leftovers, _ := filepath.Glob(cache + ".*"); leftovers != nil {
		t.Errorf("left behind: %v", leftovers)
	}
}

func TestDigestOfADirectory(t *testing.T) {
	dir := t.TempDir()
	if _, err := openDigestCache(filepath.Join(dir, "c"), later).digest(dir); err == nil {
		t.Error("no error")
	}
}
