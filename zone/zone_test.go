package zone

import (
	"strings"
	"testing"
)

func TestContains(t *testing.T) {
	z := Default("/home/u")
	for p, want := range map[string]bool{
		"/tmp": true, "/tmp/x": true, "/home/u/projects": true, "/home/u/projects/a/b": true,
		"/home/u/.cache/go-build": true,
		"/tmpx":                   false, "/home/u": false, "/home/u/projectsx/a": false, "/home/u/.cachex": false,
		"/tmp/../etc/passwd": false, "/tmp//x": false, "tmp/x": false, "": false, "/": false, "/TMP/x": false,
		"/home/v/projects/a": false, "/tmp/": false,
	} {
		if got := z.Contains(p); got != want {
			t.Errorf("Contains(%q) = %v, want %v", p, got, want)
		}
	}
}

func TestRootOfIsTheInnermost(t *testing.T) {
	z := Default("/home/u")
	z.Roots = append(z.Roots, Root{"/tmp/a/b", SourceConfigured})
	r, ok := z.RootOf("/tmp/a/b/c")
	if !ok || r.Path != "/tmp/a/b" {
		t.Errorf("got %+v, %v", r, ok)
	}
}

func TestZeroZoneContainsNothing(t *testing.T) {
	var z Zone
	for _, p := range []string{"/", "/tmp", ""} {
		if z.Contains(p) {
			t.Errorf("the zero zone contains %q", p)
		}
	}
}

func TestValidate(t *testing.T) {
	if err := Default("/home/u").Validate(); err != nil {
		t.Error(err)
	}
	if err := Box("/root", "/srv/p").Validate(); err != nil {
		t.Error(err)
	}
	for root, want := range map[string]string{
		"/home/u":                         "holds the home",
		"/home":                           "holds the home",
		"/":                               "holds the home",
		"/home/u/.config":                 "decides about the zone",
		"/home/u/.config/agent-cage":      "decides about the zone",
		"/home/u/.config/agent-cage/x":    "decides about the zone",
		"/home/u/.local":                  "decides about the zone",
		"/home/u/.local/state/agent-cage": "decides about the zone",
		"/home/u/.claude/projects":        "decides about the zone",
		"/home/u/.ssh":                    "decides about the zone",
		"/etc":                            "system directory",
		"/usr/local/src":                  "system directory",
		"/var":                            "system directory",
		"relative":                        "not an absolute",
		"/srv/a/../b":                     "not an absolute",
		"/srv/a/":                         "not an absolute",
	} {
		z := Default("/home/u")
		z.Roots = append(z.Roots, Root{root, SourceConfigured})
		err := z.Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("root %q: got %v, want an error with %q", root, err, want)
		}
	}
	for _, root := range []string{"/srv/code", "/home/u/work", "/data"} {
		z := Default("/home/u")
		z.Roots = append(z.Roots, Root{root, SourceConfigured})
		if err := z.Validate(); err != nil {
			t.Errorf("root %q: %v", root, err)
		}
	}
	if err := (Zone{Home: "/home/u"}).Validate(); err == nil {
		t.Error("a zone without roots is accepted")
	}
	if err := Default("/").Validate(); err == nil {
		t.Error("the root directory is accepted as home")
	}
}

func TestMatchLater(t *testing.T) {
	z := Default("/home/u")
	for p, want := range map[string]string{
		"/home/u/projects/a/.git/hooks/pre-commit":   ".git",
		"/home/u/projects/a/b/c/.git":                ".git",
		"/home/u/projects/a/.GIT/config":             ".git",
		"/home/u/projects/a/git~1/config":            ".git",
		"/home/u/projects/a/.g\u200cit/config":       ".git",
		"/home/u/projects/a/.git./config":            ".git",
		"/home/u/projects/a/.git /config":            ".git",
		"/home/u/projects/a/.git::$INDEX/config":     ".git",
		"/home/u/projects/a/.v\u017fcode/t.json":     ".vscode",
		"/home/u/projects/a/sub/.envrc":              ".envrc",
		"/home/u/projects/.bashrc":                   ".bashrc",
		"/tmp/.bashrc":                               ".bashrc",
		"/home/u/.bashrc":                            ".bashrc",
		"/home/u/projects/a/.config/fish/x.fish":     ".config/fish",
		"/home/u/projects/a/w.Code-Workspace":        "*.code-workspace",
		"/home/u/projects/a/.mcp.json":               ".mcp.json",
		"/home/u/projects/a/.claude/settings.json":   ".claude",
		"/home/u/projects/a/.pre-commit-config.yaml": ".pre-commit-config.yaml",
		"/home/u/bin/x":                              "bin",
		"/home/u/.docker/config.json":                ".docker",
		"/home/u/projects/a/src/main.go":             "",
		"/home/u/projects/a/bin/x":                   "",
		"/home/u/projects/a/.github/workflows/x":     "",
		"/home/u/projects/a/.gitignore":              "",
		"/home/u/projects/a/git/config":              "",
		"/home/u/projects/a/.config/other":           "",
		"/home/u/projects/a/agit~1":                  "",
		"/":                                          "",
	} {
		l, ok := z.MatchLater(p)
		if l.Name != want || ok != (want != "") {
			t.Errorf("MatchLater(%q) = %q, %v, want %q", p, l.Name, ok, want)
		}
	}
}

func TestMatchName(t *testing.T) {
	for name, want := range map[string]bool{
		".git": true, ".Envrc": true, "x.code-workspace": true, "a.go": false,
		"bin": false, "a/.git": false, "": false, ".config": false,
	} {
		if _, ok := MatchName(name); ok != want {
			t.Errorf("MatchName(%q) = %v, want %v", name, ok, want)
		}
	}
}

func TestNamesAreWellFormedAndUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range Names() {
		if l.Name == "" || l.By == "" || strings.HasPrefix(l.Name, "/") || strings.HasSuffix(l.Name, "/") {
			t.Errorf("malformed entry %+v", l)
		}
		if seen[l.Name] {
			t.Errorf("%s appears twice", l.Name)
		}
		seen[l.Name] = true
	}
	Names()[0].Name = "changed"
	if Names()[0].Name == "changed" {
		t.Error("the list can be changed from outside")
	}
}
