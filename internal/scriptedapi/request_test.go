package scriptedapi

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRealRequests reads requests that the real clients sent (shortened) and
// says what must be understood of them.
func TestRealRequests(t *testing.T) {
	files, err := filepath.Glob("testdata/requests/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no requests: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var sample struct {
				Path   string
				Header map[string]string
				Body   json.RawMessage
				Want   struct {
					First, Prompt, Notice, Result, Tool, CWD, Auxiliary string
					Answers                                             int
					Schema                                              bool
				}
			}
			if err := json.Unmarshal(data, &sample); err != nil {
				t.Fatal(err)
			}
			header := http.Header{}
			for name, value := range sample.Header {
				header.Set(name, value)
			}
			parse := parseMessages
			if sample.Path == "/v1/responses" {
				parse = parseResponses
			}
			r, err := parse(header, sample.Body)
			if err != nil {
				t.Fatal(err)
			}
			want := sample.Want
			equal(t, "auxiliary", r.auxiliary, want.Auxiliary)
			equal(t, "schema", len(r.schema) > 0, want.Schema)
			if want.Auxiliary != "" {
				return
			}
			contains(t, "first", r.first, want.First)
			contains(t, "prompt", r.prompt, want.Prompt)
			if want.Prompt == "" {
				equal(t, "prompt", r.prompt, "")
			}
			contains(t, "notice", r.notice, want.Notice)
			contains(t, "result", r.resultText(), want.Result)
			equal(t, "answers", r.answers, want.Answers)
			equal(t, "cwd", r.cwd, want.CWD)
			if !slices.Contains(r.tools, want.Tool) {
				t.Errorf("tools %q lack %s", r.tools, want.Tool)
			}
			if r.key == "" || r.key == "\x00" {
				t.Error("no key")
			}
		})
	}
}

func TestAuxiliary(t *testing.T) {
	const tools = `"tools":[{"name":"Bash"},{"name":"Read"}]`
	for _, c := range []struct{ name, body, want string }{
		{"turn", `{"max_tokens":100,` + tools + `,"messages":[{"role":"user","content":"hello"}]}`, ""},
		{"quota", `{"max_tokens":1,` + tools + `,"messages":[{"role":"user","content":"quota"}]}`, "asks for one token"},
		{"no tools", `{"max_tokens":100,"messages":[{"role":"user","content":"hello"}]}`, "offers no tool of the client's"},
		{"web search", `{"max_tokens":100,"tools":[{"type":"web_search_20250305","name":"web_search"}],"messages":[]}`, "offers no tool of the client's"},
		{"suggestion", `{"max_tokens":100,` + tools + `,"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"hi"},{"role":"user","content":"[SUGGESTION MODE: Suggest what"}]}`, "prompt is the client's own"},
	} {
		r, err := parseMessages(http.Header{}, []byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, c.name, r.auxiliary, c.want)
	}
}

// TestSubagentKey: a subagent has its parent's session.
func TestSubagentKey(t *testing.T) {
	body := []byte(`{"messages":[]}`)
	header := http.Header{}
	header.Set("X-Claude-Code-Session-Id", "s")
	parent, _ := parseMessages(header, body)
	header.Set("X-Claude-Code-Agent-Id", "a")
	child, _ := parseMessages(header, body)
	if parent.key == child.key {
		t.Errorf("both have key %q", parent.key)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func contains(t *testing.T, what, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%s: got %q, want it to contain %q", what, got, want)
	}
}
