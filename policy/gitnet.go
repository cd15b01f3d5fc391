package policy

import (
	"strings"
	"sync"
)

// netSub is what is green of one network subcommand.
type netSub struct {
	bools    map[string]bool
	minRefs  int
	maxRefs  int
	wantRefs string // how a complete command is written
}

// gitNetwork is what is green of git over the network: a configured remote by
// its name, plain refs, and flags that change neither.
var gitNetwork = sync.OnceValue(func() map[string]netSub {
	return map[string]netSub{
		"fetch": {
			bools:   set(`-q --quiet -v --verbose --progress --no-progress -p --prune -t --tags -n --no-tags`),
			minRefs: 0, maxRefs: 20, wantRefs: "git fetch REMOTE",
		},
		"pull": {
			bools: set(`-q --quiet -v --verbose --progress --no-progress --ff-only --ff --no-ff -r --rebase
			--no-rebase --no-edit -p --prune --no-tags`),
			minRefs: 1, maxRefs: 1, wantRefs: "git pull REMOTE BRANCH",
		},
		"push": {
			bools: set(`-q --quiet -v --verbose --progress --no-progress -u --set-upstream -n --dry-run
			--porcelain --atomic`),
			minRefs: 1, maxRefs: 20, wantRefs: "git push REMOTE BRANCH",
		},
	}
})

func (c *Classifier) gitNetworkCommand(g gitCommand, rule netSub) *finding {
	p, f := c.gitArgs(g, gitSub{bools: rule.bools})
	if f != nil {
		return f
	}
	if len(p.operands) == 0 || len(p.operands) < 1+rule.minRefs {
		return c.object(CodeGitBare, g.at, rule.wantRefs)
	}
	remote := p.operands[0]
	if remote.tilde || !plainName(remote.text, "._-") {
		if f := c.object(CodeGitRemote, remote.at, remote.text); f != nil {
			return f
		}
	}
	refs := p.operands[1:]
	if len(refs) > rule.maxRefs {
		return c.object(CodeGitRef, refs[rule.maxRefs].at, "too many refs")
	}
	for _, r := range refs {
		if r.tilde || !plainRef(r.text) {
			if f := c.object(CodeGitRef, r.at, r.text); f != nil {
				return f
			}
		}
	}
	return c.mayUseNetwork(g, remote)
}

func (c *Classifier) mayUseNetwork(g gitCommand, remote word) *finding {
	if c.w.NetworkGit == nil {
		return c.object(CodeGitNoHelper, g.at, "")
	}
	if ok, why := c.w.NetworkGit(g.dir, remote.text, g.sub); !ok {
		f := c.object(CodeGitUnapproved, remote.at, remote.text)
		if f != nil {
			f.reason = why
		}
		return f
	}
	return nil
}

// plainName reports whether s is letters, digits and the given characters,
// begins with a letter or digit and has no two dots in a row.
func plainName(s, others string) bool {
	for i := 0; i < len(s); i++ {
		b := s[i]
		alnum := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
		if !alnum && (i == 0 || strings.IndexByte(others, b) < 0) {
			return false
		}
	}
	return s != "" && !strings.Contains(s, "..")
}

// plainRef reports whether s is the name of a branch or tag as git accepts
// one, and nothing that git or a helper would read as more than that.
func plainRef(s string) bool {
	if !plainName(s, "._-/+@#") || len(s) > 200 || s == "tag" {
		return false
	}
	for _, part := range strings.Split(s, "/") {
		if part == "" || part[0] == '.' || part[0] == '-' || part[0] == '+' ||
			strings.HasSuffix(part, ".lock") || strings.HasSuffix(part, ".") {
			return false
		}
	}
	return true
}
