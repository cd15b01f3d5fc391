// Package netgit runs git over the network for a project whose git directory
// it does not trust. A private bare git directory outside the zone, with a
// configuration of its own, talks to the remote; what concerns the project
// itself, git does in the cage. What decides is read once, as data, and what
// was read is used.
package netgit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/zone"
)

// maxControl bounds a file of a git directory that is read, in bytes.
const maxControl = 4 << 20

// Host is what the outside of the cage gives.
type Host struct {
	Zone    zone.Zone
	Environ []string
	Git     string // absolute
	Sbox    string // absolute
	Private string // where private git directories are made; outside the zone, and readable in the cage
	Stdout  io.Writer
	Stderr  io.Writer
}

// project is a repository as it was read.
type project struct {
	dir    string // where the command runs; real
	top    string // of the working tree; real
	git    string // its git directory; real
	common string // the one that it shares with its other worktrees; real
	config settings
}

// settings are configuration values in order; the last one counts.
type settings []setting

type setting struct{ key, value string }

func (s settings) all(key string) []string {
	var out []string
	for _, kv := range s {
		if kv.key == key {
			out = append(out, kv.value)
		}
	}
	return out
}

func (s settings) last(key string) string {
	out := ""
	for _, kv := range s {
		if kv.key == key {
			out = kv.value
		}
	}
	return out
}

// truth reads a boolean of git's; a key without a value is true.
func truth(value string) bool {
	switch strings.ToLower(value) {
	case "", "false", "no", "off", "0":
		return false
	}
	return true
}

// readProject finds the repository of dir as git does, by data alone.
func (h Host) readProject(ctx context.Context, dir string) (project, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return project{}, err
	}
	p := project{dir: real}
	root, ok := h.Zone.RootOf(real)
	if !ok {
		return p, fmt.Errorf("%s is outside the zone", real)
	}
	for d := real; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			p.top = d
			break
		}
		if d == root.Path || d == filepath.Dir(d) {
			return p, fmt.Errorf("%s is in no repository of the zone", real)
		}
	}
	if p.git, err = h.gitDir(filepath.Join(p.top, ".git")); err != nil {
		return p, err
	}
	p.common = p.git
	if line, err := firstLine(filepath.Join(p.git, "commondir")); err == nil {
		if p.common, err = h.inZone(resolve(p.git, line)); err != nil {
			return p, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	if _, err := h.inZone(filepath.Join(p.common, "objects")); err != nil {
		return p, err
	}
	data, err := readControl(filepath.Join(p.common, "config"))
	if err != nil {
		return p, err
	}
	p.config, err = h.parseConfig(ctx, data)
	return p, err
}

// gitDir returns the git directory that a .git is or names.
func (h Host) gitDir(dot string) (string, error) {
	st, err := os.Stat(dot)
	if err != nil {
		return "", err
	}
	if st.IsDir() {
		return h.inZone(dot)
	}
	line, err := firstLine(dot)
	if err != nil {
		return "", err
	}
	name, ok := strings.CutPrefix(line, "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%s names no git directory", dot)
	}
	return h.inZone(resolve(filepath.Dir(dot), name))
}

func resolve(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// inZone returns the real path of a directory of the zone.
func (h Host) inZone(name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if err == nil && !h.Zone.Contains(real) {
		err = fmt.Errorf("%s is outside the zone", real)
	}
	return real, err
}

// readControl reads a regular file, itself and no link, without waiting.
func readControl(name string) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxControl+1))
	if err == nil && len(data) > maxControl {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxControl)
	}
	return data, err
}

func firstLine(name string) (string, error) {
	data, err := readControl(name)
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return strings.TrimSpace(string(line)), err
}

// parseConfig has git read a configuration that was read already: it follows
// no include and runs nothing.
func (h Host) parseConfig(ctx context.Context, data []byte) (settings, error) {
	out, err := h.plainGit(ctx, data, "config", "--file", "-", "--no-includes", "--null", "--list")
	if err != nil {
		return nil, fmt.Errorf("the project's git configuration: %w", err)
	}
	var s settings
	for _, record := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		key, value, hasValue := strings.Cut(record, "\n")
		if !hasValue {
			value = "true"
		}
		if key != "" {
			s = append(s, setting{key, value})
		}
	}
	return s, nil
}

// userConfig reads the user's own configuration. Parts of it that caged
// commands could write are an error.
func (h Host) userConfig(ctx context.Context) (settings, error) {
	out, err := h.plainGit(ctx, nil, "config", "--global", "--includes", "--show-origin", "--null", "--list")
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(out) == 0 {
		return nil, nil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("your git configuration: %w", err)
	}
	var s settings
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		file := strings.TrimPrefix(fields[i], "file:")
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			return nil, fmt.Errorf("your git configuration: %w", err)
		}
		if h.Zone.Contains(file) || h.Zone.Contains(real) {
			return nil, fmt.Errorf("your git configuration %s is inside the zone, where caged commands write", file)
		}
		key, value, hasValue := strings.Cut(fields[i+1], "\n")
		if !hasValue {
			value = "true"
		}
		s = append(s, setting{key, value})
	}
	return s, nil
}

// plainGit runs git in no repository.
func (h Host) plainGit(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, h.Git, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = "/", append(h.cleanEnv(), "GIT_DIR=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"), bytes.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil && errs.Len() > 0 {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(errs.String()))
	}
	return out, err
}

// FindGit sets Git to the first on PATH outside the zone.
func (h *Host) FindGit() error {
	for _, kv := range h.cleanEnv() {
		value, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range strings.Split(value, ":") {
			name := filepath.Join(dir, "git")
			if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0 {
				h.Git = name
				return nil
			}
		}
	}
	return errors.New("git is not on PATH")
}

// cleanEnv is the environment without git's variables, and with no program of
// the zone on PATH.
func (h Host) cleanEnv() []string {
	var out []string
	for _, kv := range h.Environ {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case name == "GIT_SSL_CAINFO", name == "GIT_SSL_CAPATH":
			// A proxy's certificates, which the gate wants outside the zone.
			if real, err := filepath.EvalSymlinks(value); err != nil || h.Zone.Contains(real) {
				continue
			}
		case strings.HasPrefix(name, "GIT_"), strings.HasPrefix(name, "LD_"), strings.HasPrefix(name, "DYLD_"),
			name == "SSH_ASKPASS", name == "EDITOR", name == "VISUAL", name == "PAGER":
			continue
		case name == "PATH":
			kv = "PATH=" + h.outsidePath(value)
		}
		out = append(out, kv)
	}
	return out
}

func (h Host) outsidePath(value string) string {
	var dirs []string
	for _, dir := range strings.Split(value, ":") {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil && filepath.IsAbs(dir) && !h.Zone.Contains(filepath.Clean(dir)) && !h.Zone.Contains(real) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ":")
}
