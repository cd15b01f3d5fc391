package policy

import (
	"path"
	"strings"
)

// gitCommand is a git command line taken apart.
type gitCommand struct {
	dir  string // where it runs: the current directory and -C; absolute
	sub  string
	args []word // after the subcommand
	at   Span   // of the subcommand
}

// gitSub is what is green of one subcommand.
type gitSub struct {
	bools   map[string]bool      // exact flags without a value
	values  map[string]valueRule // exact flags that take one
	cluster bool                 // short flags may be written together, as git's own parser reads them
	number  bool                 // -N is a count
	check   func(c *Classifier, g gitCommand, p parsed) *finding
}

// valueRule says how a flag takes its value and which are allowed.
type valueRule struct {
	joined   bool // --flag=value or -fvalue
	separate bool // --flag value or -f value
	optional bool // --flag alone is fine too, and then takes nothing
	check    func(c *Classifier, g gitCommand, value word) *finding
}

// parsed are the arguments of a subcommand taken apart.
type parsed struct {
	flags    map[string]bool
	operands []word
	dashdash int // operands from here on stood behind --, -1 if there was none
}

func (p parsed) has(flags ...string) bool {
	for _, f := range flags {
		if p.flags[f] {
			return true
		}
	}
	return false
}

// gitCommandLine judges a git command. A nil finding with network true means
// that it is green by way of the network helper.
func (c *Classifier) gitCommandLine(s simple, cwd string) (network bool, f *finding) {
	if s.words[0].text != "git" {
		if f := c.object(CodeGitPath, s.words[0].at, s.words[0].text); f != nil {
			return false, f
		}
	}
	g, f := c.gitGlobal(s, cwd)
	if f != nil {
		return false, f
	}
	if f := c.gitDir(g); f != nil {
		return false, f
	}
	if rule, ok := gitNetwork()[g.sub]; ok {
		return true, c.gitNetworkCommand(g, rule)
	}
	rule, ok := gitLocal()[g.sub]
	if !ok {
		return false, c.object(CodeGitSubcommand, g.at, g.sub)
	}
	p, f := c.gitArgs(g, rule)
	if f != nil {
		return false, f
	}
	for _, w := range p.operands {
		if f := c.gitOperand(g, w); f != nil {
			return false, f
		}
	}
	if rule.check != nil {
		return false, rule.check(c, g, p)
	}
	return false, nil
}

// gitGlobal reads the options before the subcommand.
func (c *Classifier) gitGlobal(s simple, cwd string) (gitCommand, *finding) {
	g := gitCommand{dir: cwd}
	for i := 1; i < len(s.words); i++ {
		w := s.words[i]
		switch {
		case w.tilde:
			return g, &finding{code: CodeGitSubcommand, at: w.at}
		case w.text == "--no-pager" || w.text == "--no-optional-locks":
		case w.text == "-C":
			if i++; i == len(s.words) || s.words[i].text == "" {
				return g, &finding{code: CodeGitGlobal, at: w.at, detail: "-C needs a directory"}
			}
			dir := c.absolute(s.words[i], g.dir)
			if hasDotDot(dir) {
				// Through a symlink, .. is not what it looks like.
				if f := c.object(CodeGitDir, s.words[i].at, "-C with .."); f != nil {
					return g, f
				}
			}
			g.dir = path.Clean(dir)
		case strings.HasPrefix(w.text, "-"):
			if f := c.object(CodeGitGlobal, w.at, w.text); f != nil {
				return g, f
			}
		default:
			g.sub, g.at, g.args = w.text, w.at, s.words[i+1:]
			return g, nil
		}
	}
	return g, &finding{code: CodeGitSubcommand, at: s.at, detail: "none given"}
}

// absolute makes a word's path absolute, without cleaning it.
func (c *Classifier) absolute(w word, dir string) string {
	switch {
	case w.tilde:
		return c.w.Zone.Home + w.text[1:]
	case path.IsAbs(w.text):
		return w.text
	}
	return dir + "/" + w.text
}

// gitDir objects to a working directory outside the zone.
func (c *Classifier) gitDir(g gitCommand) *finding {
	p, err := c.resolve(g.dir)
	if err != nil || !c.w.Zone.Contains(p.path) || c.cached(p.path) {
		return c.object(CodeGitDir, g.at, g.dir)
	}
	return nil
}

// gitArgs takes the arguments apart as git does, knowing only the listed flags.
func (c *Classifier) gitArgs(g gitCommand, rule gitSub) (parsed, *finding) {
	p := parsed{flags: map[string]bool{}, dashdash: -1}
	for i := 0; i < len(g.args); i++ {
		w := g.args[i]
		switch {
		case p.dashdash >= 0 || w.tilde || w.text == "-" || !strings.HasPrefix(w.text, "-"):
			p.operands = append(p.operands, w)
			continue
		case w.text == "--":
			p.dashdash = len(p.operands)
			continue
		}
		used, f := c.gitFlag(g, rule, i, &p)
		if f != nil {
			return p, f
		}
		i += used
	}
	return p, nil
}

// gitFlag reads the flag at i and returns how many arguments it took besides.
func (c *Classifier) gitFlag(g gitCommand, rule gitSub, i int, p *parsed) (int, *finding) {
	w := g.args[i]
	text := w.text
	if rule.bools[text] {
		p.flags[text] = true
		return 0, nil
	}
	if v, ok := rule.values[text]; ok {
		return c.separateValue(g, v, text, i, p)
	}
	if strings.HasPrefix(text, "--") {
		name, value, joined := strings.Cut(text, "=")
		if v, ok := rule.values[name]; ok && joined && v.joined {
			p.flags[name] = true
			return 0, v.allow(c, g, word{at: w.at, text: value})
		}
		return 0, c.object(CodeGitFlag, w.at, text)
	}
	if rule.number && isNumber(text[1:]) {
		return 0, nil
	}
	if v, ok := rule.values[text[:2]]; ok && v.joined {
		p.flags[text[:2]] = true
		return 0, v.allow(c, g, word{at: w.at, text: text[2:]})
	}
	if rule.cluster {
		if used, f, ok := c.gitCluster(g, rule, i, p); ok {
			return used, f
		}
	}
	return 0, c.object(CodeGitFlag, w.at, text)
}

func (c *Classifier) separateValue(g gitCommand, v valueRule, flag string, i int, p *parsed) (int, *finding) {
	w := g.args[i]
	switch {
	case v.optional:
		p.flags[flag] = true
		return 0, nil
	case !v.separate || i+1 == len(g.args):
		return 0, c.object(CodeGitFlag, w.at, flag+" without a value")
	}
	p.flags[flag] = true
	return 1, v.allow(c, g, g.args[i+1])
}

// gitCluster reads short flags written together, as in -am MESSAGE: flags
// without a value, and at most one with a value at the end.
func (c *Classifier) gitCluster(g gitCommand, rule gitSub, i int, p *parsed) (int, *finding, bool) {
	text := g.args[i].text
	for k := 1; k < len(text); k++ {
		flag := "-" + text[k:k+1]
		if rule.bools[flag] {
			p.flags[flag] = true
			continue
		}
		v, ok := rule.values[flag]
		if !ok || k+1 < len(text) {
			return 0, nil, false
		}
		used, f := c.separateValue(g, v, flag, i, p)
		return used, f, true
	}
	return 0, nil, true
}

func (v valueRule) allow(c *Classifier, g gitCommand, value word) *finding {
	if v.check == nil {
		return nil
	}
	return v.check(c, g, value)
}

// gitOperand objects to an operand that is a path out of the zone. Revisions
// have no leading slash and no element that is .. by itself.
func (c *Classifier) gitOperand(g gitCommand, w word) *finding {
	if !w.tilde && !path.IsAbs(w.text) && !hasDotDot(w.text) {
		return nil
	}
	return c.gitFile(g, w)
}

// gitFile objects to a path outside the zone, as written or as the file
// system resolves it from where git really runs.
func (c *Classifier) gitFile(g gitCommand, w word) *finding {
	dir, err := c.resolve(g.dir)
	if err != nil {
		return c.object(CodeGitOperand, w.at, w.text)
	}
	name := path.Clean(c.absolute(w, g.dir))
	p, err := c.resolve(c.absolute(w, dir.path))
	if w.text == "" || w.text == "-" || err != nil || !c.w.Zone.Contains(name) || !c.w.Zone.Contains(p.path) || c.cached(p.path) {
		return c.object(CodeGitOperand, w.at, w.text)
	}
	return nil
}

func isNumber(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
