package install

import (
	"encoding/json"
	"strings"
	"testing"
)

var command = HookCommand("/opt/x y/cage-gate", "claude")

const entry = `{"matcher":"*","hooks":[{"type":"command","command":"'/opt/x y/cage-gate' hook claude || { echo 'cage-gate: failed' >\u00262; exit 2; }","timeout":20}]}`

// same compares JSON by value.
func same(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	gs, _ := json.Marshal(g)
	ws, _ := json.Marshal(w)
	if string(gs) != string(ws) {
		t.Errorf("got  %s\nwant %s", gs, ws)
	}
}

func TestClaude(t *testing.T) {
	for before, want := range map[string]string{
		"":                            `{"hooks":{"PreToolUse":[` + entry + `]}}`,
		"{}":                          `{"hooks":{"PreToolUse":[` + entry + `]}}`,
		`{"a":1}`:                     `{"a":1,"hooks":{"PreToolUse":[` + entry + `]}}`,
		"{\n\t\"a\": [1,\n2]\n}\n":    `{"a":[1,2],"hooks":{"PreToolUse":[` + entry + `]}}`,
		`{"hooks":{}, "z": "}"}`:      `{"hooks":{"PreToolUse":[` + entry + `]},"z":"}"}`,
		`{"hooks":{"Stop":[]}}`:       `{"hooks":{"Stop":[],"PreToolUse":[` + entry + `]}}`,
		`{"hooks":{"PreToolUse":[]}}`: `{"hooks":{"PreToolUse":[` + entry + `]}}`,
		"{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}\n    ]\n  },\n  \"env\": {\"A\": \"\\\"{[\"}\n}\n": `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"x"}]},` + entry + `]},"env":{"A":"\"{["}}`,
	} {
		got, err := Claude(before, command)
		if err != nil {
			t.Errorf("%q: %v", before, err)
			continue
		}
		same(t, got, want)
		if again, err := Claude(got, command); err != nil || again != got {
			t.Errorf("not idempotent: %q %v", again, err)
		}
		// What was there is still there, in its own form.
		for _, line := range strings.Split(before, "\n") {
			if s := strings.TrimRight(line, ",}] "); len(s) > 3 && !strings.Contains(got, strings.TrimSuffix(s, `"hooks":{`)) && !strings.Contains(before, `{}`) {
				t.Errorf("%q lost its form in\n%s", s, got)
			}
		}
		moved, err := Claude(got, HookCommand("/elsewhere/cage-gate", "claude"))
		if err != nil || strings.Contains(moved, "/opt/x y") || strings.Count(moved, "hook claude") != 1 {
			t.Errorf("%q %v", moved, err)
		}
		back, err := ClaudeRemove(got)
		if err != nil || strings.Contains(back, "cage-gate") {
			t.Errorf("%q %v", back, err)
		}
		if undone := before; undone != "" && !strings.Contains(before, "{}") && !strings.Contains(before, "[]}") && back != undone {
			t.Errorf("undone %q\nis not %q", back, undone)
		}
	}
	for _, bad := range []string{"x", "[]", `{"hooks":[]}`, `{"hooks":{"PreToolUse":{}}}`, `{"a":1,"a":2}`, "{} {}", "// c\n{}"} {
		if got, err := Claude(bad, command); err == nil {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

func TestClaudeFormat(t *testing.T) {
	got, err := Claude("{\n    \"model\": \"x\"\n}\n", "'/b/cage-gate' hook claude || { echo 'cage-gate: failed' >&2; exit 2; }")
	want := `{
    "model": "x",
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "*",
                "hooks": [
                    {
                        "type": "command",
`
	if err != nil || !strings.HasPrefix(got, want) {
		t.Errorf("%s %v", got, err)
	}
}

func TestForeignHooksStay(t *testing.T) {
	for _, c := range []string{"cage-gate hook claude", "'/x/cage-gate' hook claude", "/x/cage-gate hook claude || true", "'/x/other' hook claude || { echo 'cage-gate: failed' >&2; exit 2; }"} {
		if IsHook(c, "claude") {
			t.Errorf("%q is taken for the gate's own", c)
		}
	}
	mixed := `{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"command":"a"},` + entry[len(`{"matcher":"*","hooks":[`):len(entry)-2] + `]}]}}`
	back, err := ClaudeRemove(mixed)
	if err != nil {
		t.Fatal(err)
	}
	same(t, back, `{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"command":"a"}]}]}}`)
}

func TestCodex(t *testing.T) {
	c := HookCommand("/opt/cage-gate", "codex")
	for _, before := range []string{
		"", "# a comment\nallowed_sandbox_modes = [\"read-only\"]\n", "[x]\ny = 1",
		"[[hooks.PreToolUse]]\nmatcher = \"x\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"y\"\n",
	} {
		got, err := Codex(before, c)
		if err != nil {
			t.Errorf("%q: %v", before, err)
			continue
		}
		if has, err := CodexCommands(got); err != nil || len(has) != 1 || has[0] != c || !strings.HasPrefix(got, before) {
			t.Errorf("%q: %q %v", got, has, err)
		}
		if again, err := Codex(got, c); err != nil || again != got {
			t.Errorf("not idempotent: %q %v", again, err)
		}
		moved, err := Codex(got, HookCommand("/b/cage-gate", "codex"))
		if err != nil || strings.Contains(moved, "/opt/") {
			t.Errorf("%q %v", moved, err)
		}
		if back, err := CodexRemove(got); err != nil || strings.TrimSuffix(back, "\n") != strings.TrimSuffix(before, "\n") {
			t.Errorf("%q %v", back, err)
		}
	}
	for _, bad := range []string{"x", "hooks = 1", "hooks = {PreToolUse = []}\n", tomlBegin + "x = 1\n"} {
		if got, err := Codex(bad, c); err == nil {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

func TestDiff(t *testing.T) {
	if got := Diff("a\nb\nc\nd\ne\n", "a\nb\nc\nx\ne\n"); got != "  b\n  c\n- d\n+ x\n  e\n" {
		t.Errorf("%q", got)
	}
	if got := Diff("", "a\n"); got != "+ a\n" {
		t.Errorf("%q", got)
	}
	if got := Diff("a\n", "a\n"); got != "" {
		t.Errorf("%q", got)
	}
}
