package gate

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-cage/agent-cage/gate/install"
	"github.com/agent-cage/agent-cage/policy"
	"github.com/agent-cage/agent-cage/skills"
	"github.com/agent-cage/agent-cage/zone"
)

const installUsage = `Usage: cage-gate install claude|codex [--scope user|managed] [--dry-run]
       cage-gate uninstall claude|codex [--scope user|managed] [--dry-run]
       cage-gate status claude|codex

user      ~/.claude/settings.json; the default for claude
managed   /etc/claude-code/managed-settings.json or /etc/codex/requirements.toml,
          which needs root; a project cannot disable it. Codex has no other:
          it skips hooks of a user silently until they are trusted.
`

// The scopes of an installation.
const (
	scopeUser    = "user"
	scopeManaged = "managed"
)

// target is one settings file of a harness.
type target struct {
	harness, scope, file string
	mode                 fs.FileMode // of a new file
}

func (t target) commands(text string) ([]string, error) {
	if t.harness == "codex" {
		return install.CodexCommands(text)
	}
	return install.ClaudeCommands(text)
}

func (t target) with(text, command string) (string, error) {
	if t.harness == "codex" {
		return install.Codex(text, command)
	}
	return install.Claude(text, command)
}

func (t target) without(text string) (string, error) {
	if t.harness == "codex" {
		return install.CodexRemove(text)
	}
	return install.ClaudeRemove(text)
}

// targets returns the files in which a harness's hook can be registered.
func (e Env) targets(harness, home string) []target {
	managed := target{harness, scopeManaged, filepath.Join(e.EtcDir, "codex/requirements.toml"), 0o644}
	if harness == "codex" {
		return []target{managed}
	}
	managed.file = filepath.Join(e.EtcDir, "claude-code/managed-settings.json")
	return []target{{harness, scopeUser, filepath.Join(e.harnessDir(harness, home), "settings.json"), 0o600}, managed}
}

// harnessDir is where a harness keeps what is the user's.
func (e Env) harnessDir(harness, home string) string {
	name, dir := "CLAUDE_CONFIG_DIR", ".claude"
	if harness == "codex" {
		name, dir = "CODEX_HOME", ".codex"
	}
	if d := e.getenv(name); filepath.IsAbs(d) {
		return filepath.Clean(d)
	}
	return filepath.Join(home, dir)
}

func installCommand(e Env, verb string, args []string) int {
	err := e.install(verb, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(e.Stdout, installUsage)
		return 0
	}
	if err != nil {
		return e.fail(err)
	}
	return 0
}

func (e Env) install(verb string, args []string) error {
	harness := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		harness, args = args[0], args[1:]
	}
	f := flag.NewFlagSet(verb, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	scope, dry := "", false
	if verb != "status" {
		f.StringVar(&scope, "scope", "", "")
		f.BoolVar(&dry, "dry-run", false, "")
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	if harnesses[harness] == nil || f.NArg() > 0 {
		return fmt.Errorf("usage: cage-gate %s claude|codex; see --help", verb)
	}
	_, z, err := e.load()
	if err != nil {
		return err
	}
	targets := e.targets(harness, z.Home)
	if verb == "status" {
		return e.installed(targets)
	}
	if scope == "" {
		scope = targets[0].scope
	}
	for _, t := range targets {
		if t.scope == scope {
			if verb == "install" {
				return e.register(t, z, dry)
			}
			return e.unregister(t, z, dry)
		}
	}
	if scope == scopeUser {
		return errors.New("for codex there is --scope managed alone, as root: it skips hooks of a user silently until they are trusted")
	}
	return fmt.Errorf("--scope: %q is not user or managed", scope)
}

// hookCommand is the command to register for the running program, which
// nobody else may be able to change.
func (e Env) hookCommand(harness string, z zone.Zone) (string, error) {
	program := filepath.Join(e.SelfDir, "cage-gate")
	w := e.world(Config{dir: z.ConfigDir(), owner: e.UID}, z, "/")
	if why := policy.New(w).Untrusted(program); why != "" {
		return "", fmt.Errorf("%s; install cage-gate where only you or root write, and run it from there", why)
	}
	if strings.ContainsAny(program, "'\n") {
		return "", fmt.Errorf("%q has a quote or newline in its path", program)
	}
	return install.HookCommand(program, harness), nil
}

func (e Env) register(t target, z zone.Zone, dry bool) error {
	command, err := e.hookCommand(t.harness, z)
	if err != nil {
		return err
	}
	err = e.edit(t, z, dry, func(text string) (string, error) { return t.with(text, command) })
	if err != nil || dry {
		return err
	}
	if err := e.putSkill(t.harness, z); err != nil {
		return err
	}
	if err := e.putHelper(z); err != nil {
		return err
	}
	return e.prove(t, z, command)
}

func (e Env) unregister(t target, z zone.Zone, dry bool) error {
	if err := e.edit(t, z, dry, t.without); err != nil || dry {
		return err
	}
	if e.registered(e.targets(t.harness, z.Home)) {
		return nil // in another scope, which needs the same files
	}
	if err := e.removeSkill(t.harness, z); err != nil {
		return err
	}
	if e.registered(append(e.targets("claude", z.Home), e.targets("codex", z.Home)...)) {
		return nil
	}
	return e.removeHelper(z)
}

// registered reports whether a hook is in one of the files.
func (e Env) registered(targets []target) bool {
	return slices.ContainsFunc(targets, func(t target) bool {
		text, err := readSettings(t.file)
		commands, err2 := t.commands(text)
		return err == nil && err2 == nil && len(commands) > 0
	})
}

// edit changes a settings file and prints the difference. A file that then
// holds nothing is removed.
func (e Env) edit(t target, z zone.Zone, dry bool, change func(string) (string, error)) error {
	before, err := readSettings(t.file)
	if err != nil {
		return err
	}
	after, err := change(before)
	if err != nil {
		return fmt.Errorf("%s: %w", t.file, err)
	}
	if after == before {
		_, err := fmt.Fprintf(e.Stdout, "%s: no change\n", t.file)
		return err
	}
	if _, err := fmt.Fprintf(e.Stdout, "%s:\n%s", t.file, install.Diff(before, after)); err != nil || dry {
		return err
	}
	return writeSettings(z, t.file, after, t.mode, strings.TrimSpace(after) == "" || strings.TrimSpace(after) == "{}")
}

func readSettings(name string) (string, error) {
	data, err := readProjectFile(name)
	return string(data), err
}

// writeSettings replaces a file as a whole, keeping its mode and the link that
// leads to it. One that caged commands could write is refused.
func writeSettings(z zone.Zone, name, text string, mode fs.FileMode, remove bool) error {
	if err := outside(z, name); err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	if remove {
		return os.Remove(name)
	}
	if st, err := os.Stat(name); err == nil {
		mode = st.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

func (e Env) skillFile(harness, home string) string {
	return filepath.Join(e.harnessDir(harness, home), "skills/agent-cage/SKILL.md")
}

func (e Env) putSkill(harness string, z zone.Zone) error {
	name := e.skillFile(harness, z.Home)
	old, err := readSettings(name)
	if err != nil || old == string(skills.AgentCage) {
		return err
	}
	if err := writeSettings(z, name, string(skills.AgentCage), 0o644, false); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Stdout, "%s: written\n", name)
	return err
}

// removeSkill removes the skill file unless somebody changed it.
func (e Env) removeSkill(harness string, z zone.Zone) error {
	name := e.skillFile(harness, z.Home)
	old, err := readSettings(name)
	switch {
	case err != nil || old == "":
		return err
	case !bytes.Equal([]byte(old), skills.AgentCage):
		_, err := fmt.Fprintf(e.Stdout, "%s: changed since, left there\n", name)
		return err
	}
	if err := os.Remove(name); err != nil {
		return err
	}
	_ = os.Remove(filepath.Dir(name)) // only if nothing else is in it
	_, err = fmt.Fprintf(e.Stdout, "%s: removed\n", name)
	return err
}

// installed says where the hook is registered. It is an error if it is
// nowhere, or if what is registered is not there.
func (e Env) installed(targets []target) error {
	found := false
	for _, t := range targets {
		text, err := readSettings(t.file)
		if err != nil {
			return err
		}
		commands, err := t.commands(text)
		if err != nil {
			return fmt.Errorf("%s: %w", t.file, err)
		}
		if len(commands) == 0 {
			fmt.Fprintf(e.Stdout, "%-8s %s: not registered\n", t.scope, t.file)
		}
		for _, c := range commands {
			program := strings.Split(c, "'")[1]
			if st, err := os.Stat(program); err != nil || st.Mode().Perm()&0o111 == 0 {
				return fmt.Errorf("%s: %s is registered and is not an executable file: every call is blocked", t.file, program)
			}
			found = true
			fmt.Fprintf(e.Stdout, "%-8s %s: %s\n", t.scope, t.file, program)
		}
	}
	if !found {
		return errors.New("the hook is not registered")
	}
	return nil
}
