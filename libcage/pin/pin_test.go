package pin

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/images"
)

var (
	hashA = "sha512-" + strings.Repeat("A", 86) + "=="
	hashB = "sha512-" + strings.Repeat("b", 86) + "=="
)

func pinned(version string) images.Pin {
	return images.Pin{Package: "@toy/toy", Version: version, Archives: map[string]images.Archive{
		"amd64": {Package: "@toy/toy@" + version + "-linux-x64", Integrity: hashA, Members: []string{"bin/toy", "bin/toy-helper"}},
		"arm64": {Package: "@toy/toy@" + version + "-linux-arm64", Integrity: hashB, Members: []string{"bin/toy", "bin/toy-helper"}},
	}}
}

func TestMove(t *testing.T) {
	s := Store{filepath.Join(t.TempDir(), "pins")}
	builtin := pinned("1.2.9")
	if got := s.Current("toy-box", builtin); got.Version != "1.2.9" {
		t.Errorf("got %s, want the builtin", got.Version)
	}
	must(t, s.Move("toy-box", pinned("1.2.10")))
	if diff := cmp.Diff(pinned("1.2.10"), s.Current("toy-box", builtin)); diff != "" {
		t.Error(diff)
	}
	if got := s.Current("toy-box", pinned("1.3.0")); got.Version != "1.3.0" {
		t.Errorf("got %s, want the newer builtin", got.Version)
	}
	if got := s.Current("other-box", builtin); got.Version != "1.2.9" {
		t.Errorf("got %s for another image", got.Version)
	}
}

func TestBrokenPinsDoNotCount(t *testing.T) {
	s := Store{t.TempDir()}
	for _, content := range []string{"", "{", `{"version":"9.9.9"}`,
		`{"version":"9.9.9","archives":{"amd64":{"package":"x@9.9.9; rm -rf /","integrity":"` + hashA + `","members":["x"]}}}`,
		`{"version":"9.9.9","archives":{"amd64":{"package":"x@9.9.9","integrity":"md5-x","members":["x"]}}}`,
		`{"version":"9.9.9","archives":{"amd64":{"package":"x@9.9.9","integrity":"` + hashA + `","members":["x","../x"]}}}`,
	} {
		must(t, os.WriteFile(s.path("toy-box", "pin"), []byte(content), 0o600))
		if got := s.Current("toy-box", pinned("1.0.0")); got.Version != "1.0.0" {
			t.Errorf("%s: got %s", content, got.Version)
		}
	}
	if err := s.Move("toy-box", images.Pin{Version: "x"}); err == nil {
		t.Error("an invalid pin is moved to")
	}
}

func TestQueryAndRead(t *testing.T) {
	p := pinned("1.2.9")
	argv := Query(p)
	if want := []string{"query", "@toy/toy", "@toy/toy@%s-linux-x64", "@toy/toy@%s-linux-arm64"}; !slices.Equal(argv[3:], want) {
		t.Errorf("got %q, want %q", argv[3:], want)
	}
	got, err := Read(p, "1.3.0\n"+hashB+"\n"+hashA+"\n")
	must(t, err)
	if got.Version != "1.3.0" || got.Archives["amd64"].Integrity != hashB || got.Archives["arm64"].Package != "@toy/toy@1.3.0-linux-arm64" {
		t.Errorf("got %+v", got)
	}
	for _, output := range []string{"", "1.3.0\n", "1.3.0\nx\ny\n", "npm warn\n1.3.0\n" + hashA + "\n", "1.3\n" + hashA + "\n" + hashB} {
		if got, err := Read(p, output); err == nil {
			t.Errorf("%q: got %+v, want an error", output, got)
		}
	}
}

func TestMention(t *testing.T) {
	s := Store{t.TempDir()}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if !s.Due("toy-box", now) {
		t.Error("not due at first")
	}
	must(t, s.Note("toy-box", "1.3.0", now))
	if s.Due("toy-box", now.Add(time.Hour)) || !s.Due("toy-box", now.Add(25*time.Hour)) || !s.Due("toy-box", now.Add(-time.Hour)) {
		t.Error("due at the wrong time")
	}
	for _, step := range []struct {
		after  time.Duration
		pinned string
		want   string
	}{
		{0, "1.3.0", ""}, {0, "1.10.0", ""}, {0, "1.2.9", "1.3.0"}, {time.Hour, "1.2.9", ""}, {25 * time.Hour, "1.2.9", "1.3.0"},
	} {
		if got := s.Mention("toy-box", step.pinned, now.Add(step.after)); got != step.want {
			t.Errorf("after %v, pinned %s: got %q, want %q", step.after, step.pinned, got, step.want)
		}
	}
	if err := s.Note("toy-box", "\x1b[31m1.0.0", now); err == nil {
		t.Error("nonsense is noted")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
