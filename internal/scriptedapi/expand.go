package scriptedapi

import (
	"maps"
	"regexp"
	"slices"
)

// cwdVar is the variable that the server sets itself: the directory that the
// client says it works in.
const cwdVar = "cwd"

// variable does not match templates of other tools, such as Docker's
// {{.State.Pid}} or {{json .}}, so these can stand in a script as they are.
var variable = regexp.MustCompile(`\{\{([A-Za-z][A-Za-z0-9_]*)\}\}`)

// expand puts values into text and leaves names that have none.
func expand(text string, values map[string]string) string {
	return variable.ReplaceAllStringFunc(text, func(ref string) string {
		if value, ok := values[ref[2:len(ref)-2]]; ok {
			return value
		}
		return ref
	})
}

func expandAll(texts Strings, values map[string]string) Strings {
	out := slices.Clone(texts)
	for i := range out {
		out[i] = expand(out[i], values)
	}
	return out
}

// expandAny expands every string in a decoded JSON value, but no object key.
func expandAny(value any, values map[string]string) any {
	switch v := value.(type) {
	case string:
		return expand(v, values)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = expandAny(v[i], values)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			out[key] = expandAny(v[key], values)
		}
		return out
	default:
		return value
	}
}

// expand returns a copy of the turn with values put in.
func (t *Turn) expand(values map[string]string) Turn {
	out := *t
	out.Expect.Prompt = expandAll(t.Expect.Prompt, values)
	out.Expect.Notice = expandAll(t.Expect.Notice, values)
	out.Expect.Result = expandAll(t.Expect.Result, values)
	out.Expect.NoResult = expandAll(t.Expect.NoResult, values)
	out.Expect.System = expandAll(t.Expect.System, values)
	out.Reply = slices.Clone(t.Reply)
	for i := range out.Reply {
		out.Reply[i].Text = expand(out.Reply[i].Text, values)
		out.Reply[i].Input = expandAny(out.Reply[i].Input, values)
	}
	return out
}

// variables returns the names that still stand in the turn, sorted.
func (t *Turn) variables() []string {
	seen := map[string]bool{}
	note := func(text string) {
		for _, ref := range variable.FindAllStringSubmatch(text, -1) {
			seen[ref[1]] = true
		}
	}
	e := t.Expect
	for _, text := range slices.Concat(e.Prompt, e.Notice, e.Result, e.NoResult, e.System) {
		note(text)
	}
	for _, item := range t.Reply {
		note(item.Text)
		walkStrings(item.Input, note)
	}
	return slices.Sorted(maps.Keys(seen))
}

func walkStrings(value any, visit func(string)) {
	switch v := value.(type) {
	case string:
		visit(v)
	case []any:
		for _, element := range v {
			walkStrings(element, visit)
		}
	case map[string]any:
		for _, element := range v {
			walkStrings(element, visit)
		}
	}
}
