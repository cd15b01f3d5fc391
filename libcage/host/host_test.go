package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

func TestFindHome(t *testing.T) {
	dir := realTempDir(t)
	file := filepath.Join(dir, "file")
	link := filepath.Join(dir, "link")
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Symlink(dir, link))
	tests := []struct{ home, want, refused string }{
		{dir, dir, ""},
		{link, dir, ""},
		{"", "", "HOME is not set"},
		{madeDir(t, filepath.Join(dir, "a:b")), "", "a colon or a control character"},
		{madeDir(t, filepath.Join(dir, "a\nroot2::0:0::")), "", "a colon or a control character"},
		{madeDir(t, filepath.Join(dir, "a\xe9")), "", "not UTF-8"},
		{"relative", "", "not an absolute path"},
		{filepath.Join(dir, "missing"), "", "does not exist"},
		{file, "", "not a directory"},
	}
	for _, tt := range tests {
		got, err := findHome(tt.home)
		checkRefused(t, tt.home, got, err, tt.want, tt.refused)
	}
}

// madeDir makes a directory and returns its path.
func madeDir(t *testing.T, path string) string {
	t.Helper()
	must(t, os.Mkdir(path, 0o700))
	return path
}

func TestProject(t *testing.T) {
	root := realTempDir(t)
	home := filepath.Join(root, "home")
	project := filepath.Join(home, "src", "p 1:,\"'é")
	outside := filepath.Join(root, "outside")
	login := filepath.Join(root, "logins", "a")
	for _, d := range []string{project, outside, login} {
		must(t, os.MkdirAll(d, 0o755))
	}
	must(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	must(t, os.Symlink(project, filepath.Join(root, "link")))
	must(t, os.Symlink(home, filepath.Join(root, "home-link")))
	must(t, os.Mkdir(filepath.Join(root, "latin-\xe9"), 0o755))
	t.Chdir(project)
	rel, err := filepath.Rel(home, project)
	must(t, err)
	tests := []struct{ named, want, refused string }{
		{"", project, ""},
		{".", project, ""},
		{"~/" + rel, project, ""},
		{filepath.Join(root, "link"), project, ""},
		{outside, outside, ""},
		{filepath.Join(root, "missing"), "", "does not exist"},
		{filepath.Join(root, "file"), "", "not a directory"},
		{filepath.Join(root, "file", "x"), "", "not a directory"},
		{filepath.Join(root, "latin-\xe9"), "", "not UTF-8"},
		{"~", "", "your home directory"},
		{home, "", "your home directory"},
		{filepath.Join(root, "home-link"), "", "your home directory"},
		{login, "", "your home directory"},
		{filepath.Join(root, "logins"), "", "contains your home directory"},
		{root, "", "contains your home directory"},
		{"/", "", "contains your home directory"},
		{"/etc", "", "part of the system"},
		{"/proc/self", "", "part of the system"},
		{"/usr/bin", "", "hide a part of the box"},
	}
	for _, tt := range tests {
		got, err := Project(tt.named, &Caller{Home: home, LoginHome: login})
		checkRefused(t, tt.named, got, err, tt.want, tt.refused)
	}
}

// A refusal names the directory and not the dot that stands for it.
func TestRefusalNamesTheCurrentDirectory(t *testing.T) {
	home := realTempDir(t)
	t.Chdir(home)
	for _, named := range []string{"", "."} {
		_, err := Project(named, &Caller{Home: home})
		if err == nil || !strings.Contains(err.Error(), home) {
			t.Errorf("%q: %v", named, err)
		}
	}
}

func TestTooWide(t *testing.T) {
	for dir, want := range map[string]string{
		"/tmp":             "sockets of other programs",
		"/var/run/x":       "part of the system",
		"/home":            "hide a part of the box",
		"/root":            "hide a part of the box",
		"/home/a/src":      "",
		"/home/alice":      "",
		"/tmp/x":           "",
		"/srv/www":         "",
		"/devel":           "",
		"/usr/src/project": "",
	} {
		got := tooWide(dir)
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", dir, got, want)
		}
	}
}

func TestProjectInDeletedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	must(t, os.Mkdir(dir, 0o755))
	t.Chdir(dir)
	must(t, os.Remove(dir))
	got, err := Project("", &Caller{Home: "/nonexistent-home"})
	if err == nil {
		t.Fatalf("got %q, want a refusal", got)
	}
}

func TestTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	must(t, err)
	defer null.Close()
	r, w, err := os.Pipe()
	must(t, err)
	defer w.Close()
	closed, err := os.Open(os.DevNull)
	must(t, err)
	closed.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	must(t, err)
	defer file.Close()
	tests := []struct {
		name  string
		stdin *os.File
		want  plan.Terminal
	}{
		{"null", null, plan.Terminal{}},
		{"pipe", r, plan.Terminal{Stdin: true}},
		{"file", file, plan.Terminal{Stdin: true}},
		{"closed", closed, plan.Terminal{}},
	}
	for _, tt := range tests {
		if got := Terminal(tt.stdin, null, null); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func checkRefused(t *testing.T, named, got string, err error, want, refused string) {
	t.Helper()
	if refused == "" {
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", named, got, err, want)
		}
		return
	}
	var r *RefusedError
	if !errors.As(err, &r) || !strings.Contains(err.Error(), refused) {
		t.Errorf("%q: got %q, %v, want it refused: %q", named, got, err, refused)
	}
}

func realTempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
