package policy

import (
	"path"
	"strings"
)

// findSbox learns which sbox is the installed one: that beside the running
// cage-gate, else the first on PATH outside the zone.
func (c *Classifier) findSbox() *finding {
	first := ""
	candidates := []string{}
	if c.w.SelfDir != "" {
		candidates = append(candidates, path.Join(c.w.SelfDir, "sbox"))
	}
	for _, dir := range strings.Split(c.variable("PATH"), ":") {
		if !path.IsAbs(dir) {
			continue
		}
		name := path.Join(path.Clean(dir), "sbox")
		if first == "" && c.executable(name) {
			first = name
		}
		candidates = append(candidates, name)
	}
	why := "there is none beside cage-gate or on PATH"
	for _, name := range candidates {
		p, objection := c.trusted(name)
		if objection == "" {
			c.sbox, c.sboxReal = name, p.path
			break
		}
		if p.exists {
			why = objection
		}
	}
	if first != "" {
		if p, err := c.resolve(first); err == nil {
			c.nameReal = p.path
		}
	}
	if c.sbox == "" {
		return &finding{code: CodeSboxOther, detail: why}
	}
	return nil
}

// Sbox is the installed sbox by its absolute path, empty if there is none.
func (c *Classifier) Sbox() string {
	c.facts.Do(c.learn)
	return c.sbox
}

// Untrusted says why others could have changed the program at an absolute
// path, or caged commands could; empty if they could not.
func (c *Classifier) Untrusted(program string) string {
	_, why := c.trusted(program)
	return why
}

func (c *Classifier) executable(name string) bool {
	p, err := c.resolve(name)
	return err == nil && p.exists && p.stat.Mode.IsRegular() && p.stat.Mode&0o111 != 0
}

// isSbox reports whether a command word calls itself sbox.
func isSbox(name string) bool { return name == "sbox" || strings.HasSuffix(name, "/sbox") }

// narrow are the flags of sbox that a green command may have: they narrow the
// cage, or only describe it. sbox takes flags before its command alone.
var narrow = map[string]bool{
	"--private-tmp": true, "--print": true, "--print=json": true, "--doctor": true, "--json": true, "--help": true, "--version": true,
}

// standalone are those that make a command unnecessary.
var standalone = map[string]bool{
	"--print": true, "--print=json": true, "--doctor": true, "--help": true, "--version": true,
}

// sboxCommand judges sbox [flags] COMMAND.
func (c *Classifier) sboxCommand(s simple, cwd string) *finding {
	if f := c.whichSbox(s.words[0], cwd); f != nil {
		return f
	}
	alone := false
	for _, w := range s.words[1:] {
		switch {
		case w.text == "--":
			continue
		case narrow[w.text]:
			alone = alone || standalone[w.text]
			continue
		case w.tilde:
			return nil
		case strings.HasPrefix(w.text, "-"):
			if f := c.object(CodeSboxFlag, w.at, w.text); f != nil {
				return f
			}
			continue
		case w.text == "":
			return c.object(CodeSboxNoCommand, w.at, "the command is empty")
		}
		return nil
	}
	if alone {
		return nil
	}
	return c.object(CodeSboxNoCommand, s.at, "")
}

// whichSbox objects to an sbox that is not the installed one.
func (c *Classifier) whichSbox(w word, cwd string) *finding {
	if c.sboxFound != nil {
		f := *c.sboxFound
		f.at = w.at
		return &f
	}
	// The bare name is rewritten to the installed one's path, so that it need
	// not be on PATH; but if another is, nobody knows which one is meant.
	real := c.nameReal
	if real == "" {
		real = c.sboxReal
	}
	if strings.Contains(w.text, "/") {
		real = ""
		name := w.text
		if !path.IsAbs(name) {
			name = cwd + "/" + name
		}
		if p, err := c.resolve(name); err == nil && p.exists {
			real = p.path
		}
		// A path that can be changed does not get better by leading to the
		// right place just now.
		if real == c.sboxReal && c.w.Zone.Contains(path.Clean(name)) {
			real = ""
		}
	}
	if real != c.sboxReal {
		return c.object(CodeSboxOther, w.at, w.text)
	}
	return nil
}
