package policy

import (
	"path"
	"strings"
	"unicode/utf8"

	"github.com/agent-cage/agent-cage/zone"
)

// hasHidden reports whether a path has a character that cannot be seen or
// means something to a terminal: there is no reason for a path to have any.
func hasHidden(p string) bool {
	for i := 0; i < len(p); {
		r, size := utf8.DecodeRuneInString(p[i:])
		if hidden(r, size) {
			return true
		}
		i += size
	}
	return false
}

func (c *Classifier) cached(p string) bool { return zone.Within(p, c.w.Zone.CacheDir()) }

// write decides about a tool that writes one file.
func (c *Classifier) write(name string, t *trace) Verdict {
	for _, rule := range []struct {
		name string
		ask  func(string) *finding
	}{
		{"path form", c.pathForm},
		{"zone", c.pathInZone},
		{"executed later", c.pathLater},
		{"git directory", c.pathGit},
	} {
		if f := t.ask(rule.name, rule.ask(name)); f != nil {
			return f.verdict()
		}
	}
	return Verdict{Class: Green, Code: CodeFile}
}

// pathForm objects to a path that is not absolute or may be read as another:
// but for . and doubled slashes it has to be clean.
func (c *Classifier) pathForm(name string) *finding {
	if hasHidden(name) {
		if f := c.object(CodePathByte, Span{}, ""); f != nil {
			return f
		}
	}
	switch {
	case !path.IsAbs(name):
		return c.object(CodePath, Span{}, "not absolute")
	case hasDotDot(name):
		return c.object(CodePath, Span{}, "with ..")
	case strings.HasSuffix(name, "/") || strings.HasSuffix(name, "/."):
		return c.object(CodePath, Span{}, "a directory")
	case len(name) > 4096:
		return c.object(CodePath, Span{}, "too long")
	}
	return nil
}

func (c *Classifier) pathInZone(name string) *finding {
	clean := path.Clean(name)
	if zone.Within(clean, "/proc") || !c.w.Zone.Contains(clean) {
		if f := c.object(CodePathOutside, Span{}, clean); f != nil {
			return f
		}
	}
	p, err := c.resolve(clean)
	if err != nil {
		return c.object(CodePathUnknown, Span{}, err.Error())
	}
	if !c.w.Zone.Contains(p.path) {
		if f := c.object(CodePathLink, Span{}, p.path); f != nil {
			return f
		}
	}
	if c.cached(clean) || c.cached(p.path) {
		if f := c.object(CodePathCache, Span{}, p.path); f != nil {
			return f
		}
	}
	if p.exists && (!p.stat.Mode.IsRegular() || p.stat.Links > 1) {
		return c.object(CodePathSpecial, Span{}, p.stat.Mode.String())
	}
	return nil
}

// bothNames are the path as given and as resolved, both clean.
func (c *Classifier) bothNames(name string) []string {
	clean := path.Clean(name)
	if p, err := c.resolve(clean); err == nil && p.path != clean {
		return []string{clean, p.path}
	}
	return []string{clean}
}

func (c *Classifier) pathLater(name string) *finding {
	for _, n := range c.bothNames(name) {
		if l, ok := c.w.Zone.MatchLater(n); ok {
			return c.object(CodePathLater, Span{}, l.Name+" by "+l.By)
		}
		for _, h := range c.w.Helpers {
			if n == h {
				return c.object(CodePathLater, Span{}, "a vetted helper")
			}
		}
	}
	return nil
}

// pathGit objects to a file of a git directory that is not called .git, and
// to one that would begin a bare repository.
func (c *Classifier) pathGit(name string) *finding {
	for _, n := range c.bothNames(name) {
		if strings.EqualFold(path.Base(n), "HEAD") {
			return c.object(CodePathGit, Span{}, "HEAD makes a directory a repository")
		}
		for dir := path.Dir(n); c.w.Zone.Contains(dir); dir = path.Dir(dir) {
			if strings.HasSuffix(strings.ToLower(dir), ".git") || c.isGitDir(dir) {
				return c.object(CodePathGit, Span{}, dir)
			}
		}
	}
	return nil
}

// isGitDir reports whether a directory has what git asks of a repository. On
// an error it says yes.
func (c *Classifier) isGitDir(dir string) bool {
	if p, err := c.resolve(dir + "/HEAD"); err == nil && !p.exists {
		return false
	}
	for _, name := range []string{"objects", "refs", "commondir"} {
		if p, err := c.resolve(path.Join(dir, name)); err != nil || p.exists {
			return true
		}
	}
	return false
}
