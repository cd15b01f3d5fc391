package launch

import (
	"strings"
	"testing"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

func TestQuoted(t *testing.T) {
	for want, argv := range map[string][]string{
		`claude -p 'hi there'`: {"claude", "-p", "hi there"},
		`'' 'it'\''s' a=b`:     {"", "it's", "a=b"},
		"'$(x)' '~' ./a-b_c":   {"$(x)", "~", "./a-b_c"},
	} {
		if got := quoted(argv); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestPlanForPeople(t *testing.T) {
	var b strings.Builder
	err := writePlan(&b, &plan.Plan{
		Name:    "toy-box-x",
		Project: plan.Project{Dir: "/p\x1b[31m\nq", Reason: "the current directory"},
		Mounts:  []plan.Mount{{Source: "/a", Target: "/b", ReadOnly: true, Reason: "because"}},
		Command: plan.Command{Argv: []string{"toy"}},
		Env:     []plan.Env{{Name: "GH_TOKEN", Reason: "forwarded"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{"toy-box-x", "/a → /b (read-only)", "because", "GH_TOKEN", "streams, without input", `"/p\x1b[31m\nq"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") || strings.Contains(got, "memory limit") {
		t.Errorf("a control character, or a limit that is not set:\n%s", got)
	}
}
