package scriptedapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// holds reports whether a client conversation that begins with r is meant.
func (m *Match) holds(r *request) bool {
	if m.API != "" && m.API != r.api {
		return false
	}
	for _, text := range m.Prompt {
		if !strings.Contains(r.first, text) {
			return false
		}
	}
	return missing(m.Tools, r.tools) == ""
}

// check returns what is wrong with r, or "".
func (e *Expect) check(r *request) string {
	results := r.resultText()
	for _, c := range []struct {
		what, text string
		wanted     Strings
	}{
		{"prompt", r.prompt, e.Prompt},
		{"notices", r.notice, e.Notice},
		{"tool results", results, e.Result},
		{"system prompt", r.system, e.System},
	} {
		for _, want := range c.wanted {
			if !strings.Contains(c.text, want) {
				return fmt.Sprintf("%s without %q: %s", c.what, want, excerpt(c.text))
			}
		}
	}
	for _, bad := range e.NoResult {
		if strings.Contains(results, bad) {
			return fmt.Sprintf("tool results contain %q: %s", bad, excerpt(results))
		}
	}
	if why := e.checkError(r); why != "" {
		return why
	}
	return e.checkTools(r)
}

func (e *Expect) checkError(r *request) string {
	if e.Error == nil {
		return ""
	}
	marked := slices.ContainsFunc(r.results, func(result Result) bool { return result.Error })
	if marked != *e.Error {
		return fmt.Sprintf("tool results marked as an error: %t, expected %t: %s", marked, *e.Error, excerpt(r.resultText()))
	}
	return ""
}

func (e *Expect) checkTools(r *request) string {
	if name := missing(e.Tools, r.tools); name != "" {
		return fmt.Sprintf("tool %s is not offered, only %s", name, strings.Join(r.tools, " "))
	}
	for _, name := range e.NoTools {
		if slices.Contains(r.tools, name) {
			return fmt.Sprintf("tool %s is offered", name)
		}
	}
	return ""
}

// missing returns the first of wanted that is not in have, or "".
func missing(wanted, have []string) string {
	for _, name := range wanted {
		if !slices.Contains(have, name) {
			return name
		}
	}
	return ""
}

// capture puts the turn's captured variables into values.
func (e *Expect) capture(r *request, values map[string]string) string {
	text := r.resultText()
	if len(r.results) == 0 {
		text = r.prompt
	}
	for name, expr := range e.Capture {
		found := regexp.MustCompile(expr).FindStringSubmatch(text)
		if found == nil {
			return fmt.Sprintf("nothing to capture as {{%s}} with %q: %s", name, expr, excerpt(text))
		}
		values[name] = found[min(1, len(found)-1)]
	}
	return ""
}

// checkCalls returns what is wrong with the turn's calls for this request.
func (t *Turn) checkCalls(r *request) string {
	for _, item := range t.Reply {
		if item.Call == "" || item.Unoffered {
			continue
		}
		name := item.Call
		if item.Namespace != "" {
			name = item.Namespace + "." + name
		}
		if missing([]string{name}, r.tools) != "" {
			return fmt.Sprintf("the script calls %s, but the client offers only %s", name, strings.Join(r.tools, " "))
		}
	}
	return ""
}

// excerpt keeps a report readable.
func excerpt(text string) string {
	const limit = 300
	if len(text) > limit {
		return fmt.Sprintf("%q and %d bytes more", text[:limit], len(text)-limit)
	}
	return fmt.Sprintf("%q", text)
}
