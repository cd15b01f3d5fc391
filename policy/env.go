package policy

import (
	"path"
	"strings"
)

// learn finds out, once, what holds for every shell command of this world.
func (c *Classifier) learn() {
	c.env = c.environment()
	c.sboxFound = c.findSbox()
}

// environment objects to an environment that would change what a green
// command runs.
func (c *Classifier) environment() *finding {
	if c.w.ProjectEnvFault != "" {
		if f := c.object(CodeEnv, Span{}, "the project's settings: "+c.w.ProjectEnvFault); f != nil {
			return f
		}
	}
	paths := 0
	for _, kv := range c.w.Env {
		if what := c.badVariable(kv, false); what != "" {
			return c.object(CodeEnv, Span{}, what)
		}
		if strings.HasPrefix(kv, "PATH=") {
			paths++
		}
	}
	if paths > 1 {
		return c.object(CodeEnv, Span{}, "PATH is there twice")
	}
	for _, kv := range c.w.ProjectEnv {
		if what := c.badVariable(kv, true); what != "" {
			return c.object(CodeEnv, Span{}, what+", set by the project's settings")
		}
	}
	return nil
}

// Variables that make a shell or the loader run or read something else first.
var badNames = map[string]bool{
	"BASH_ENV": true, "ENV": true, "ZDOTDIR": true, "SHELLOPTS": true, "BASHOPTS": true,
	"BASH_LOADABLES_PATH": true, "FPATH": true, "PROMPT_COMMAND": true, "PS4": true,
}

// Variables that a project's settings have no business with: they decide
// which shell, home or wrapper a harness uses.
var badProjectNames = map[string]bool{
	"HOME": true, "SHELL": true, "XDG_CONFIG_HOME": true, "XDG_DATA_HOME": true, "XDG_STATE_HOME": true,
	"CLAUDE_CODE_SHELL": true, "CLAUDE_CODE_SHELL_PREFIX": true, "CLAUDE_ENV_FILE": true,
	"CLAUDE_CONFIG_DIR": true, "CODEX_HOME": true, "IFS": true, "CDPATH": true, "GLOBIGNORE": true,
}

// Variables that name a file or directory which decides what runs, or whom
// git trusts.
var pathNames = map[string]bool{
	"GIT_SSL_CAINFO": true, "GIT_SSL_CAPATH": true, "CLAUDE_ENV_FILE": true, "CLAUDE_CODE_SHELL": true, "SHELL": true, "XDG_CONFIG_HOME": true,
}

// safeGit are the variables of git that cannot make it run, read or write
// anything else. The value says which values are safe; nil means any.
var safeGit = map[string][]string{
	"GIT_AUTHOR_NAME": nil, "GIT_AUTHOR_EMAIL": nil, "GIT_AUTHOR_DATE": nil,
	"GIT_COMMITTER_NAME": nil, "GIT_COMMITTER_EMAIL": nil, "GIT_COMMITTER_DATE": nil,
	"GIT_TERMINAL_PROMPT": nil, "GIT_OPTIONAL_LOCKS": nil, "GIT_CONFIG_NOSYSTEM": nil,
	"GIT_ADVICE": nil, "GIT_MERGE_AUTOEDIT": nil, "GIT_LFS_SKIP_SMUDGE": nil,
	"GIT_FLUSH": nil, "GIT_LITERAL_PATHSPECS": nil, "GIT_DEFAULT_HASH": nil,
	"GIT_EDITOR":          {"true", ":", "/bin/true", "/usr/bin/true"},
	"GIT_SEQUENCE_EDITOR": {"true", ":", "/bin/true", "/usr/bin/true"},
	"GIT_PAGER":           {"", "cat", "less", "/bin/cat", "/usr/bin/cat"},
}

// badVariable says what is wrong with NAME=value, "" if nothing.
func (c *Classifier) badVariable(kv string, project bool) string {
	name, value, ok := strings.Cut(kv, "=")
	switch {
	case !ok || name == "":
		return ""
	case badNames[name] || project && badProjectNames[name]:
		return name + " is set"
	case strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_"):
		return name + " is set"
	case strings.HasPrefix(name, "BASH_FUNC_") || strings.HasPrefix(value, "() {"):
		return "the function " + strings.TrimSuffix(strings.TrimPrefix(name, "BASH_FUNC_"), "%%") + " is exported"
	case pathNames[name]:
		if c.inZone(value) {
			return name + " lies inside the zone"
		}
	case strings.HasPrefix(name, "GIT_"):
		return badGitVariable(name, value)
	case name == "PATH":
		return c.badPath(value)
	case name == "HOME" && path.Clean(value) != c.w.Zone.Home:
		return "HOME is not the home directory of the zone"
	}
	return ""
}

func badGitVariable(name, value string) string {
	values, known := safeGit[name]
	if !known {
		return name + " is set"
	}
	if values == nil {
		return ""
	}
	for _, v := range values {
		if v == value {
			return ""
		}
	}
	return name + " is not one of the harmless values"
}

// badPath says which entry of a PATH caged commands could write to.
func (c *Classifier) badPath(value string) string {
	for _, dir := range strings.Split(value, ":") {
		if !path.IsAbs(dir) {
			return "PATH has an entry that is not absolute"
		}
		if c.inZone(dir) {
			return "the PATH entry " + dir + " lies inside the zone"
		}
	}
	return ""
}

// inZone reports whether a path is in the zone, by itself or through
// symlinks, or cannot be examined.
func (c *Classifier) inZone(p string) bool {
	if p == "" {
		return false
	}
	if !path.IsAbs(p) {
		return true
	}
	p = path.Clean(p)
	if c.w.Zone.Contains(p) {
		return true
	}
	real, err := c.resolve(p)
	return err != nil || c.w.Zone.Contains(real.path)
}

// variable returns a variable of the environment.
func (c *Classifier) variable(name string) string {
	for i := len(c.w.Env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(c.w.Env[i], name+"="); ok {
			return v
		}
	}
	return ""
}
