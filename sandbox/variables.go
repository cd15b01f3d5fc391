//go:build linux

package sandbox

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// environment records what the command's environment loses and gets.
func (b *builder) environment() error {
	_, b.d.Env = b.m.commandEnv(b.d, b.o.KeepEnv)
	return nil
}

// commandEnv returns the command's environment, and how it differs from the
// caller's.
func (m *Machine) commandEnv(d *Description, keep []string) ([]string, []EnvChange) {
	env, changes := scrub(m.Environ, keep)
	drop := func(name, reason string) {
		for i, kv := range env {
			if strings.HasPrefix(kv, name+"=") {
				env = append(env[:i:i], env[i+1:]...)
				changes = append(changes, EnvChange{Name: name, Reason: reason})
				return
			}
		}
	}
	if t := m.Getenv("TMPDIR"); t != "" && !inZone(m.Zone, t) {
		drop("TMPDIR", "it is not writable in the cage")
	}
	if d.Git != nil {
		for _, name := range gitPlaceNames {
			drop(name, "the git directory is that of the current directory")
		}
	}
	n := 0
	if d.Git == nil {
		n, _ = strconv.Atoi(m.Getenv("GIT_CONFIG_COUNT"))
	}
	settings := d.gitConfig(n)
	if len(settings) > 0 {
		env = slices.DeleteFunc(env, func(kv string) bool {
			return strings.HasPrefix(kv, "GIT_CONFIG_COUNT=") || d.Git != nil && strings.HasPrefix(kv, "GIT_CONFIG_")
		})
	}
	for _, kv := range settings {
		env = append(env, kv.name+"="+kv.value)
		changes = append(changes, EnvChange{Name: kv.name, Set: true, Reason: kv.reason})
	}
	return env, changes
}

// gitPlaceNames are variables that make git work elsewhere than where it
// stands, or run something else on the way.
var gitPlaceNames = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_NAMESPACE", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS",
	"GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_EXTERNAL_DIFF",
}

type setting struct{ name, value, reason string }

// gitConfig is what git in the cage is told by its environment, after n
// settings of the caller's.
func (d *Description) gitConfig(n int) []setting {
	var out []setting
	add := func(key, value, reason string) {
		i := strconv.Itoa(n)
		n++
		out = append(out, setting{"GIT_CONFIG_KEY_" + i, key, reason}, setting{"GIT_CONFIG_VALUE_" + i, value, reason})
	}
	if len(d.Placeholders) > 0 {
		add("core.excludesFile", ignorePath, "git does not list placeholders")
	}
	if d.Git != nil && !d.Git.Hooks {
		add("core.hooksPath", "/dev/null", "the configuration is writable, so that no hook runs")
	}
	if d.Git != nil {
		for _, key := range []string{"gpg.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program"} {
			add(key, refusePath, "keys are hidden, so that nothing can be signed")
		}
	}
	if len(out) > 0 {
		out = append(out, setting{"GIT_CONFIG_COUNT", strconv.Itoa(n), "settings for git by environment"})
	}
	return out
}

// ignoreFile is the content of the cage's core.excludesFile: the placeholders
// and what the user's own says.
func (m *Machine) ignoreFile(d *Description) []byte {
	own := m.Home + "/.config/git/ignore"
	if x := m.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(x) {
		own = x + "/git/ignore"
	}
	for _, f := range []string{m.Home + "/.config/git/config", m.Home + "/.gitconfig"} {
		for _, line := range strings.Split(string(readSmall(f, 1<<20)), "\n") {
			key, value, ok := strings.Cut(line, "=")
			if ok && strings.EqualFold(strings.TrimSpace(key), "excludesfile") {
				own = strings.Trim(strings.TrimSpace(value), `"`)
				if rest, ok := strings.CutPrefix(own, "~/"); ok {
					own = m.Home + "/" + rest
				}
			}
		}
	}
	out := readSmall(own, 1<<20)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	for _, p := range d.Placeholders {
		if rel, ok := strings.CutPrefix(p.Path, d.Project+"/"); ok {
			out = append(out, "/"+rel+"\n"...)
		}
	}
	return out
}
