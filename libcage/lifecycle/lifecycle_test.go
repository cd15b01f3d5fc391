package lifecycle

import (
	"regexp"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	for project, want := range map[string]string{
		"/home/a/app":                     "claude-box-app-r",
		"/home/a/My App (v2)":             "claude-box-My-App--v2-r",
		"/home/a/été":                     "claude-box-t-r",
		"/home/a/日本":                      "claude-box-project-r",
		"/home/a/-x\n":                    "claude-box-x-r",
		"/home/a/.hidden":                 "claude-box-hidden-r",
		"/a/" + strings.Repeat("x", 4000): "claude-box-" + strings.Repeat("x", maxProject) + "-r",
	} {
		got := Name("claude-box", project, "r")
		if got != want {
			t.Errorf("%q: got %q, want %q", project, got, want)
		}
		if !regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]+$`).MatchString(got) {
			t.Errorf("%q: an engine refuses %q", project, got)
		}
	}
}

func TestRandom(t *testing.T) {
	a, b := Random(), Random()
	if len(a) != 8 || a == b {
		t.Errorf("got %q and %q, want 8 characters, different", a, b)
	}
}
