package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agent-cage/agent-cage/gate/install"
	"github.com/agent-cage/agent-cage/zone"
)

// helperName is the helper that comes with the gate.
const helperName = "gh-issue"

// toolsDir is where helpers are installed: AGENT_TOOLS_DIR, else ~/work.
func (e Env) toolsDir(home string) string {
	if d := e.getenv("AGENT_TOOLS_DIR"); filepath.IsAbs(d) {
		return filepath.Clean(d)
	}
	return filepath.Join(home, "work")
}

// putHelper copies the helper that lies beside the program into the tools
// directory, and names it in the user's settings.
func (e Env) putHelper(z zone.Zone) error {
	data, err := os.ReadFile(filepath.Join(e.SelfDir, helperName))
	if errors.Is(err, fs.ErrNotExist) {
		_, err := fmt.Fprintf(e.Stdout, "%s is not beside cage-gate, so it is not installed\n", helperName)
		return err
	}
	if err != nil {
		return err
	}
	name := filepath.Join(e.toolsDir(z.Home), helperName)
	if old, err := os.ReadFile(name); err != nil || !bytes.Equal(old, data) {
		if err := writeSettings(z, name, string(data), 0o755, false); err != nil {
			return err
		}
		if err := os.Chmod(name, 0o755); err != nil {
			return err
		}
		fmt.Fprintf(e.Stdout, "%s: written\n", name)
	}
	return e.editHelpers(z, func(text string) (string, error) { return addHelper(text, name) })
}

// removeHelper takes back what putHelper did.
func (e Env) removeHelper(z zone.Zone) error {
	name := filepath.Join(e.toolsDir(z.Home), helperName)
	if err := e.editHelpers(z, func(text string) (string, error) { return dropHelper(text, name), nil }); err != nil {
		return err
	}
	ours, err := os.ReadFile(filepath.Join(e.SelfDir, helperName))
	if err != nil {
		return nil //nolint:nilerr // nothing of ours to compare with: it stays
	}
	if there, err := os.ReadFile(name); err != nil || !bytes.Equal(there, ours) || filepath.Dir(name) == e.SelfDir {
		return nil //nolint:nilerr // not there, or another
	}
	if err := os.Remove(name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Stdout, "%s: removed\n", name)
	return err
}

// editHelpers changes the user's gate.toml, and refuses a result that is not
// valid.
func (e Env) editHelpers(z zone.Zone, change func(string) (string, error)) error {
	name := filepath.Join(z.ConfigDir(), fileName)
	before, err := readSettings(name)
	if err != nil {
		return err
	}
	after, err := change(before)
	if err != nil || after == before {
		return err
	}
	if _, err := parseConfig([]byte(after), z); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, err := fmt.Fprintf(e.Stdout, "%s:\n%s", name, install.Diff(before, after)); err != nil {
		return err
	}
	return writeSettings(z, name, after, 0o600, after == "")
}

func helperLine(name string) string { return fmt.Sprintf("helpers = [%q]\n", name) }

// addHelper names a helper in the text of a gate.toml.
func addHelper(text, name string) (string, error) {
	c, err := parseConfig([]byte(text), zone.Zone{})
	if err != nil || slices.Contains(c.Helpers, name) {
		return text, err
	}
	at := regexp.MustCompile(`(?m)^helpers[ \t]*=[ \t]*\[`).FindStringIndex(text)
	if at == nil {
		return helperLine(name) + text, nil
	}
	comma := ""
	if len(c.Helpers) > 0 {
		comma = ", "
	}
	out := text[:at[1]] + fmt.Sprintf("%q", name) + comma + text[at[1]:]
	if c, err := parseConfig([]byte(out), zone.Zone{}); err != nil || !slices.Contains(c.Helpers, name) {
		return "", fmt.Errorf("add %q to helpers by hand", name)
	}
	return out, nil
}

// dropHelper undoes addHelper.
func dropHelper(text, name string) string {
	for _, form := range [][2]string{
		{helperLine(name), ""}, {fmt.Sprintf("%q, ", name), ""}, {fmt.Sprintf("%q", name), ""},
	} {
		if strings.Contains(text, form[0]) {
			return strings.Replace(text, form[0], form[1], 1)
		}
	}
	return text
}
