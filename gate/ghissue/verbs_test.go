package ghissue

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-cage/agent-cage/internal/githubserver"
)

func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

func TestAnIssueFromItsOpeningToItsEnd(t *testing.T) {
	w := newWorld(t)
	if got, want := w.good("create", "--title", "It's broken", "--body-file", w.body("Steps:\n\n1. run\n"), "--label", "bug", "--assignee", "ann"),
		"opened #1 "+w.url+"/acme/app/issues/1\n"; got != want {
		t.Errorf("create: %q, want %q", got, want)
	}
	if got := w.good("list"); got != "#1\topen\tIt's broken\tbug\t2026-03-01T12:00:00Z\n" {
		t.Errorf("list: %q", got)
	}
	if got := w.good("comment", "1", "--body-file", w.body("Seen here too.\n")); !strings.HasPrefix(got, "commented on #1 https://") {
		t.Errorf("comment: %q", got)
	}
	want := `title      It's broken
issue      #1, open
author     agent
assignees  ann
labels     bug
comments   1
created    2026-03-01T12:00:00Z
url        ` + w.url + `/acme/app/issues/1

Steps:

1. run

--- agent, 2026-03-01T12:00:00Z
Seen here too.
`
	if got := w.good("view", "1", "--comments"); got != want {
		t.Errorf("view: %q, want %q", got, want)
	}
	if got := w.good("view", "1"); strings.Contains(got, "Seen here too") {
		t.Errorf("view without --comments: %q", got)
	}
	if got := w.good("label", "1", "--add", "area/net work", "--add", "later", "--remove", "bug", "--remove", "never there"); !strings.HasSuffix(got, "  area/net work, later\n") {
		t.Errorf("label: %q", got)
	}
	if got := w.good("label", "1", "--remove", "area/net work"); !strings.HasSuffix(got, "  later\n") {
		t.Errorf("label: %q", got)
	}
	if got := w.good("close", "1", "--reason", "not_planned"); !strings.HasPrefix(got, "closed #1 ") {
		t.Errorf("close: %q", got)
	}
	if it := decode[item](t, w.good("view", "1", "--json")); it.State != "closed" || it.Reason != "not_planned" || it.Kind != "issue" {
		t.Errorf("after close: %+v", it)
	}
	if got := w.good("list") + w.good("list", "--state", "closed", "--author", "bob") + w.good("list", "--state", "all", "--label", "bug"); got != "" {
		t.Errorf("filters let through %q", got)
	}
	if got := w.good("list", "--state", "closed", "--author", "agent", "--assignee", "ann", "--label", "later"); !strings.HasPrefix(got, "#1\t") {
		t.Errorf("filters: %q", got)
	}
	if got := w.good("reopen", "1"); !strings.HasPrefix(got, "reopened #1 ") {
		t.Errorf("reopen: %q", got)
	}
}

func TestAPullRequestFromItsOpeningToItsEnd(t *testing.T) {
	w := newWorld(t)
	w.server.AddBranch("topic")
	if got, want := w.good("pr-create", "--title", "Mend it", "--head", "topic", "--draft", "--body-file", w.body("Closes #1.\n")),
		"opened #1 "+w.url+"/acme/app/pull/1\n"; got != want {
		t.Errorf("pr-create: %q, want %q", got, want)
	}
	w.bad(StatusFailed, []string{"Validation Failed; A pull request already exists for acme:topic. (422)"},
		"pr-create", "--title", "Mend it", "--head", "topic")
	w.bad(StatusFailed, []string{"Validation Failed; head: invalid (422)"}, "pr-create", "--title", "x", "--head", "never/pushed", "--base", "main")
	if got := w.good("pr-list") + w.good("pr-list", "--head", "topic", "--base", "main"); strings.Count(got, "#1\topen\tMend it\t") != 2 {
		t.Errorf("pr-list: %q", got)
	}
	if got := w.good("pr-list", "--head", "other") + w.good("list"); got != "" {
		t.Errorf("pr-list of another branch, list of issues: %q", got)
	}
	if got := w.good("pr-view", "1"); !strings.Contains(got, "pull       #1, open, draft\n") || !strings.Contains(got, "branches   acme:topic into main\n") || !strings.HasSuffix(got, "\nCloses #1.\n") {
		t.Errorf("pr-view: %q", got)
	}
	if got := w.good("pr-diff", "1"); got != githubserver.Patch {
		t.Errorf("pr-diff: %q", got)
	}
	w.bad(StatusFailed, []string{"(404)"}, "pr-view", "2")
	w.server.AddIssue("ann", "an issue", "")
	w.bad(StatusFailed, []string{"(404)"}, "pr-diff", "2")
}

// The issue verbs take a pull request's number.
func TestIssueVerbsOnAPullRequest(t *testing.T) {
	w := newWorld(t)
	w.server.AddPull("ann", "Mend it", "topic")
	w.good("comment", "1", "--body-file", w.body("Fine."))
	w.good("label", "1", "--add", "ready")
	w.good("close", "1")
	it := decode[item](t, w.good("view", "1", "--comments", "--json"))
	if it.Kind != "pull" || it.State != "closed" || len(it.Labels) != 1 || len(it.Thread) != 1 || it.Thread[0].Body != "Fine." {
		t.Errorf("got %+v", it)
	}
	w.good("reopen", "1")
}

func TestLinkBranch(t *testing.T) {
	w := newWorld(t)
	w.server.AddIssue("ann", "It's broken", "")
	w.server.AddBranch("release/1")
	w.server.AddPull("ann", "Mend it", "topic")
	w.server.Seen()
	if got := w.good("link-branch", "1", "--branch", "1-mend"); got != "made branch 1-mend from main, linked to #1\n" {
		t.Errorf("got %q", got)
	}
	if c := w.changes(); len(c) != 1 || c[0].Path != "/api/graphql" {
		t.Errorf("changes: %v", c)
	}
	if got := w.good("link-branch", "1", "--branch", "1-again", "--base", "release/1", "--json"); decode[map[string]any](t, got)["branch"] != "1-again" {
		t.Errorf("got %q", got)
	}
	w.bad(StatusFailed, []string{"is there one named 1-mend already?"}, "link-branch", "1", "--branch", "1-mend")
	w.bad(StatusFailed, []string{"GitHub refuses: Could not resolve to Issue node"}, "link-branch", "2", "--branch", "2-x")
	w.bad(StatusFailed, []string{"(404)"}, "link-branch", "1", "--branch", "x", "--base", "missing")
}

func TestPages(t *testing.T) {
	w := newWorld(t)
	for n := range 230 {
		if n%2 == 0 {
			w.server.AddIssue("ann", fmt.Sprint("issue ", n), "")
		} else {
			w.server.AddPull("ann", fmt.Sprint("pull ", n), fmt.Sprint("b", n))
		}
	}
	for range 150 {
		w.server.AddComment(1, "bob", "me too")
	}
	for want, args := range map[int][]string{
		30: {"list"}, 115: {"list", "--limit", "1000"}, 7: {"list", "--limit", "7"}, 114: {"pr-list", "--limit", "114"},
	} {
		if got := strings.Count(w.good(args...), "\n"); got != want {
			t.Errorf("%q: %d lines, want %d", args, got, want)
		}
	}
	if it := decode[item](t, w.good("view", "1", "--comments", "--json")); len(it.Thread) != 150 {
		t.Errorf("%d comments", len(it.Thread))
	}
	w.server.Seen()
	w.good("list", "--limit", "7")
	if n := len(w.server.Seen()); n != 1 {
		t.Errorf("7 issues took %d requests", n)
	}
}

func TestJSONIsAList(t *testing.T) {
	w := newWorld(t)
	if got := w.good("list", "--json"); got != "[]\n" {
		t.Errorf("no issue: %q", got)
	}
	w.server.AddIssue("ann", "<a> & b", "x")
	if all := decode[[]item](t, w.good("list", "--json")); len(all) != 1 || all[0].Title != "<a> & b" || all[0].Author != "ann" {
		t.Errorf("got %+v", all)
	}
	if d := decode[map[string]any](t, w.good("comment", "1", "--json", "--body-file", w.body("hm"))); d["body"] != "hm" {
		t.Errorf("got %v", d)
	}
}

func TestWrongUsage(t *testing.T) {
	w := newWorld(t)
	for line, want := range map[string]string{
		"":                                  "no command",
		"merge 1":                           `unknown command "merge"`,
		"pr-merge 1":                        `unknown command "pr-merge"`,
		"lis":                               `unknown command "lis"`,
		"list x":                            "no operand",
		"list --state odd":                  "--state",
		"list --limit 0":                    "--limit",
		"list --limit 1001":                 "--limit",
		"list --limit x":                    "--limit",
		"list --label a,b":                  "--label",
		"list --sate open":                  "unknown flag",
		"list --repo":                       "needs an argument",
		"list --repo acme":                  "not OWNER/NAME",
		"list --repo acme/..":               "not OWNER/NAME",
		"list --repo acme/app/issues":       "not OWNER/NAME",
		"list --repo acme/app?x":            "not OWNER/NAME",
		"list --token x":                    "unknown flag",
		"view":                              "one number",
		"view 1 2":                          "one number",
		"view 0":                            "not the number",
		"view -- -1":                        "not the number",
		"view 1/comments":                   "not the number",
		"view 99999999999":                  "not the number",
		"create":                            "--title",
		"create --title \x1b[1m":            "--title",
		"create --title x --body y":         "unknown flag",
		"comment 1":                         "--body-file is missing",
		"close 1 --reason odd":              "--reason",
		"label 1":                           "nothing to",
		"label 1 --remove ..":               "not the name of a label",
		"label 1 --remove .":                "not the name of a label",
		"pr-create --title x":               "--head",
		"pr-create --title x --head -x":     "--head",
		"pr-create --title x --head a..b":   "--head",
		"link-branch 1":                     "--branch",
		"link-branch 1 --branch a/../b":     "--branch",
		"link-branch 1 --branch a.lock":     "--branch",
		"link-branch 1 --branch a --base /": "--base",
	} {
		w.bad(StatusUsage, []string{want}, strings.Fields(line)...)
	}
	w.environ = w.environ[:1]
	w.bad(StatusUsage, []string{"which repository?"}, "list")
	if seen := w.server.Seen(); len(seen) != 0 {
		t.Errorf("wrong usage sent %v", seen)
	}
	if out := w.good("--help") + w.good("help", "list"); !strings.Contains(out, "Exit status: 0 done") {
		t.Errorf("help: %q", out)
	}
}
