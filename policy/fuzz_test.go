package policy

import (
	"strings"
	"testing"
)

// seeds are all commands of the batteries.
func seeds(f *testing.F, add func(string)) {
	for _, name := range gatedBatteries {
		for _, l := range battery(f, name) {
			add(expand(l.field[1]))
		}
	}
	for _, l := range battery(f, "green") {
		add(l.field[0])
	}
}

// Whatever the text: no panic, the same answer twice, places inside the text,
// and a rewrite that is green again when its own programs are taken as sbox.
func FuzzClassify(f *testing.F) {
	seeds(f, func(s string) { f.Add(s) })
	c := New(world())
	f.Fuzz(func(t *testing.T, text string) {
		v := c.Classify(Command(text, repo))
		again := New(world()).Classify(Command(text, repo))
		if v.Class != again.Class || v.Code != again.Code || v.Rewrite != again.Rewrite {
			t.Fatalf("%q: %v, then %v", text, v, again)
		}
		if v.At.Start > v.At.End || v.At.End > len(text) || v.At.Start < 0 {
			t.Fatalf("%q: the place %v", text, v.At)
		}
		if v.Class == Ungated || v.Class == Gated && v.Rewrite != "" || v.Code == "" || v.Reason == "" {
			t.Fatalf("%q: %+v", text, v)
		}
		if v.Rewrite == "" {
			return
		}
		// What runs instead has the same arguments.
		line, objection := c.readShell(v.Rewrite, &trace{})
		if objection != nil || len(line) != len(v.Segments) {
			t.Fatalf("%q: the rewrite %q is not understood: %v", text, v.Rewrite, objection)
		}
		for i, s := range line {
			got, want := c.args(s), v.Segments[i].Args
			if len(got) < len(want) {
				t.Fatalf("%q: %q lost arguments", text, v.Rewrite)
			}
			tail := got[len(got)-len(want)+1:]
			if strings.Join(tail, "\x00") != strings.Join(want[1:], "\x00") {
				t.Fatalf("%q: %q has other arguments", text, v.Rewrite)
			}
		}
	})
}

// A green text with an operator added outside quotes is not green, and a
// gated command poisons whatever it is joined to.
func FuzzPoison(f *testing.F) {
	seeds(f, func(s string) { f.Add(s, "; ", uint8(0)) })
	c := New(world())
	added := []string{
		";", "|", "||", "&", "|&", "\n", "\r", "$x", "$(x)", "`x`", ">x", ">>x", "<x", "2>x", "&>x", "<<<x", "{a,b}", "*",
		"\\x", " # x", "\x00", "\u200b", "<(x)", " ;rm x", " & rm x", "\nrm x", " | sh", " && rm x", " >/dev/null1", " 3>&1",
	}
	f.Fuzz(func(t *testing.T, text, _ string, pick uint8) {
		v := c.Classify(Command(text, repo))
		extra := added[int(pick)%len(added)]
		if v.Class == Green {
			if w := c.Classify(Command(text+extra, repo)); w.Class == Green {
				t.Fatalf("%q is green, and so is %q", text, text+extra)
			}
			return
		}
		if v.Code == CodeLength || v.Code == CodeEmpty {
			return
		}
		for _, joined := range []string{"sbox ls && " + text, text + " && sbox ls", "git status && " + text + " && sbox ls"} {
			// Joining may close a quote or end a comment; what must not be is
			// that it is green with the text's commands in it.
			if w := c.Classify(Command(joined, repo)); w.Class == Green {
				t.Fatalf("%q is gated by %s, but %q is green", text, v.Code, joined)
			}
		}
	})
}

func FuzzWrite(f *testing.F) {
	for _, l := range battery(f, "files") {
		f.Add(expand(l.field[1]))
	}
	c := New(world())
	f.Fuzz(func(t *testing.T, name string) {
		v := c.Classify(writeCall("Write", "file_path", name))
		if v.Class != Green {
			return
		}
		for _, part := range strings.Split(name, "/") {
			if strings.EqualFold(part, ".git") || part == ".." || strings.EqualFold(part, ".vscode") {
				t.Fatalf("%q is green", name)
			}
		}
		if !strings.HasPrefix(name, "/") || strings.ContainsAny(name, "\x00\n\r\x1b") {
			t.Fatalf("%q is green", name)
		}
	})
}

func FuzzParseEvent(f *testing.F) {
	f.Add([]byte(`{"hook_event_name":"PreToolUse","tool_name":"Bash","cwd":"/tmp","tool_input":{"command":"sbox ls"}}`))
	f.Add([]byte(`{"hook_event_name":"PreToolUse","tool_name":"Write","cwd":"/tmp","tool_input":{"file_path":"/tmp/x","content":"\u00e9"}}`))
	c := New(world())
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := ParseEvent(data)
		if err != nil {
			return
		}
		v := c.Classify(e.Call)
		if v.Class == Green && !strings.Contains(string(data), "tool_input") {
			t.Fatalf("%q is green", data)
		}
	})
}
