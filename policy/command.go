package policy

import (
	"path"
	"strings"
)

// shellCommand decides about the text of a shell command.
func (c *Classifier) shellCommand(text, cwd string, t *trace) Verdict {
	if !path.IsAbs(cwd) || path.Clean(cwd) != cwd || hasHidden(cwd) {
		f := &finding{code: CodeWorkingDir, detail: Quote(cwd)}
		t.fail("working directory", f)
		return f.verdict()
	}
	line, f := c.readShell(text, t)
	if f != nil {
		return f.verdict()
	}
	c.facts.Do(c.learn)
	if t.ask("environment", c.env) != nil {
		v := c.env.verdict()
		v.Segments = segments(line, CodeEnv)
		return v
	}
	v := Verdict{Class: Green, Segments: make([]Segment, 0, len(line))}
	var first *finding
	judged := make([]judgement, len(line))
	rewritten := false
	for i, s := range line {
		j := c.judge(s, cwd, t)
		judged[i] = j
		v.Segments = append(v.Segments, Segment{At: s.at, Args: c.args(s), Class: j.class(), Code: j.code})
		if j.f != nil && first == nil {
			first = j.f
		}
		if v.Code == "" || j.code != CodeSbox {
			v.Code = j.code
		}
		rewritten = rewritten || j.rewrite
	}
	if first != nil {
		g := first.verdict()
		g.Segments = v.Segments
		return g
	}
	if rewritten {
		rewrite := make([]string, len(line))
		for i, s := range line {
			rewrite[i] = c.rewriteOf(s, judged[i])
		}
		v.Rewrite = strings.Join(rewrite, " && ")
	}
	return v
}

// judgement is the decision about one simple command.
type judgement struct {
	code    Code
	f       *finding // why it is gated, nil if it is green
	rewrite bool     // it may only run in its rewritten form
	prefix  []string // what the rewritten form puts before it
	whole   bool     // the prefix stands for the command's name
}

func (j judgement) class() Class {
	if j.f != nil {
		return Gated
	}
	return Green
}

// judge decides which of the green rules a command falls under, and whether
// it keeps it.
func (c *Classifier) judge(s simple, cwd string, t *trace) judgement {
	name := s.words[0]
	j := judgement{}
	var rule string
	switch {
	case name.tilde:
		rule, j.f = "green command", &finding{code: CodeTilde, at: name.at}
	case isSbox(name.text):
		rule, j.code, j.f = "sbox", CodeSbox, c.sboxCommand(s, cwd)
		// A shell that reads its profile first may have another PATH than
		// this process has, or an alias by that name.
		j.prefix, j.whole, j.rewrite = []string{c.sbox}, true, !strings.Contains(name.text, "/")
	case name.text == "git" || strings.HasSuffix(name.text, "/git"):
		rule, j = "scoped git", c.judgeGit(s, cwd)
	case c.isHelper(name.text):
		rule, j.code, j.f = "vetted helper", CodeHelper, c.helper(s)
	default:
		rule, j.code, j.rewrite, j.whole = "green command", CodeRemembered, true, true
		var program string
		program, j.f = c.remembered(s, cwd)
		j.prefix = []string{program}
	}
	t.ask(rule, j.f)
	if j.f != nil {
		j.code = j.f.code
	}
	return j
}

func (c *Classifier) judgeGit(s simple, cwd string) judgement {
	network, f := c.gitCommandLine(s, cwd)
	if f == nil && c.sboxFound != nil {
		f = &finding{code: CodeSboxOther, at: s.at, detail: c.sboxFound.detail}
	}
	if network {
		return judgement{code: CodeGitNetwork, f: f, rewrite: true, whole: true,
			prefix: []string{path.Join(c.w.SelfDir, "cage-gate"), "git"}}
	}
	return judgement{code: CodeGit, f: f, rewrite: true, prefix: []string{c.sbox, "--git"}}
}

// args are the arguments as the shell would pass them.
func (c *Classifier) args(s simple) []string {
	out := make([]string, len(s.words))
	for i, w := range s.words {
		out[i] = w.text
		if w.tilde {
			out[i] = c.w.Zone.Home + w.text[1:]
		}
	}
	return out
}

// rewriteOf writes a command anew from the arguments that were judged, so
// that what runs is what was decided.
func (c *Classifier) rewriteOf(s simple, j judgement) string {
	args := c.args(s)
	if j.whole {
		args = args[1:]
	}
	out := quoteAll(append(append([]string(nil), j.prefix...), args...))
	for _, r := range s.redirects {
		out += " " + r.text
	}
	return out
}

func segments(line []simple, code Code) []Segment {
	out := make([]Segment, len(line))
	for i, s := range line {
		out[i] = Segment{At: s.at, Class: Gated, Code: code}
		for _, w := range s.words {
			out[i].Args = append(out[i].Args, w.text)
		}
	}
	return out
}

func (c *Classifier) isHelper(name string) bool {
	for _, h := range c.w.Helpers {
		if h == name {
			return true
		}
	}
	return false
}

// helper judges a vetted executable named by its absolute path.
func (c *Classifier) helper(s simple) *finding {
	if _, objection := c.trusted(s.words[0].text); objection != "" {
		if f := c.object(CodeHelperUnsafe, s.words[0].at, objection); f != nil {
			return f
		}
	}
	for _, w := range s.words[1:] {
		if w.special {
			if f := c.object(CodeHelperWord, w.at, w.raw); f != nil {
				return f
			}
		}
	}
	return nil
}
