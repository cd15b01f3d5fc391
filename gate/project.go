package gate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"
	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/policy/strictjson"
)

// maxSettings bounds a settings file of a project, in bytes.
const maxSettings = 1 << 20

// projectEnv returns the variables that settings files of a project may add
// to shell commands, as "NAME=value". A harness reads some of the files in
// the current directory, the project's directory and those above them; all of
// them are read here, but for those of the home directory, which are the
// user's own.
func projectEnv(cwd, project, home string) ([]string, error) {
	var env []string
	seen := map[string]bool{}
	for _, start := range []string{cwd, project} {
		if !path.IsAbs(start) {
			continue
		}
		for dir := path.Clean(start); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			if dir == home {
				continue
			}
			for _, name := range []string{".claude/settings.json", ".claude/settings.local.json"} {
				more, err := claudeEnv(filepath.Join(dir, name))
				if err != nil {
					return nil, err
				}
				env = append(env, more...)
			}
			more, err := codexEnv(filepath.Join(dir, ".codex/config.toml"))
			if err != nil {
				return nil, err
			}
			env = append(env, more...)
		}
	}
	return env, nil
}

// claudeEnv reads the "env" of Claude Code's settings.
func claudeEnv(name string) ([]string, error) {
	data, err := readProjectFile(name)
	if data == nil || err != nil {
		return nil, err
	}
	v, err := strictjson.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if v.Kind != strictjson.Object {
		return nil, fmt.Errorf("%s: not an object", name)
	}
	var env []string
	for _, m := range v.Get("env").Members {
		env = append(env, m.Key+"="+m.Value.Text)
	}
	return env, nil
}

// codexEnv reads the variables that Codex's configuration sets for the shell.
func codexEnv(name string) ([]string, error) {
	data, err := readProjectFile(name)
	if data == nil || err != nil {
		return nil, err
	}
	var c struct {
		Shell struct {
			Set map[string]any `toml:"set"`
		} `toml:"shell_environment_policy"`
	}
	if err := toml.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("%s: not valid TOML", name)
	}
	var env []string
	for k, v := range c.Shell.Set {
		env = append(env, fmt.Sprintf("%s=%v", k, v))
	}
	return env, nil
}

// readProjectFile reads a regular file without waiting for anybody. A missing
// one is nil.
func readProjectFile(name string) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxSettings {
		return nil, fmt.Errorf("%s: larger than %d bytes", name, maxSettings)
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}
