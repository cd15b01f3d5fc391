package ghissue

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agent-cage/agent-cage/internal/githubserver"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext":                               "plain\n\ttext",
		"naïve 漢字 👩\u200d👧":                           "naïve 漢字 👩\u200d👧",
		"a\x1b[31mred\x1b[0mb":                        "aredb",
		"a\x1b]0;title\x07b":                          "ab",
		"a\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\b": "alinkb",
		"a\x1bPq#0\x1b\\b":                            "ab",
		"a\u009b2Jb\u009d0;t\u009cc":                  "abc",
		"a\x1bcb\x1b(Bd":                              "abd",
		"a\x1b]0;open\nb":                             "a0;open\nb",
		"a\x1b[1":                                     "a",
		"a\x1b":                                       "a",
		"\x1b\x1b[[31mx":                              "31mx",
		"\x1b[\x1b[0m31mx":                            "31mx",
		"a\r\nb\rc\x00\x08\x7f":                       "a\nbc",
		"x\u202ey\u2066z\u200e\u061c\u2028":           "xyz",
		"tag\U000e0041\ufeff\u00ad":                   "tag",
		"bad\xff":                                     "bad\ufffd",
	} {
		got := text(in)
		if got != want {
			t.Errorf("text(%q) = %q, want %q", in, got, want)
		}
		if text(got) != got {
			t.Errorf("text(%q) is not clean: %q", in, got)
		}
	}
	if got := oneLine("a\n\n b\tc\r"); got != "a  b c" {
		t.Errorf("oneLine: %q", got)
	}
}

const nasty = "a\x1b]52;c;cm0=\x07b\x1b[8mc\u202ed\u009b2J\U000e0041\r\ne"

// What others wrote reaches a terminal without what it acts on, in each verb.
func TestWhatOthersWroteIsCleaned(t *testing.T) {
	w := newWorld(t)
	n := w.server.AddIssue("an\x1b[1mn", nasty, nasty, nasty)
	w.server.AddComment(n, "bo\x1bcb", nasty)
	w.server.AddPull("ann", nasty, "topic")
	w.terminal = true
	for _, args := range [][]string{{"list"}, {"view", "1", "--comments"}, {"pr-list"}, {"pr-view", "2"}, {"pr-diff", "2"},
		{"label", "1", "--add", "x"}, {"close", "1"}} {
		out := w.good(args...)
		if strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && r != '\t' && hidden(r) }) {
			t.Errorf("%q printed %q", args, out)
		}
	}
	if got := w.good("list", "--state", "all"); strings.Count(got, "\n") != 1 || !strings.Contains(got, "\tabcd e\t") {
		t.Errorf("list: %q", got)
	}
	out := w.good("view", "1", "--comments", "--json")
	if strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && hidden(r) }) {
		t.Errorf("JSON: %q", out)
	}
	var it item
	if err := json.Unmarshal([]byte(out), &it); err != nil || it.Body != nasty || it.Title != nasty {
		t.Errorf("JSON lost something: %v, %q", err, it.Body)
	}
}

func TestADiffIsCleanedForATerminalOnly(t *testing.T) {
	w := newWorld(t)
	w.server.AddPull("ann", "x", "topic")
	if got := w.good("pr-diff", "1"); got != githubserver.Patch {
		t.Errorf("to a file: %q", got)
	}
	var d struct{ Diff string }
	if err := json.Unmarshal([]byte(w.good("pr-diff", "1", "--json")), &d); err != nil || d.Diff != githubserver.Patch {
		t.Errorf("JSON: %v, %q", err, d.Diff)
	}
	w.terminal = true
	if got := w.good("pr-diff", "1"); strings.ContainsAny(got, "\x1b\r") || !strings.Contains(got, "+new red\n") {
		t.Errorf("to a terminal: %q", got)
	}
}
