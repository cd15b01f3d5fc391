package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-cage/agent-cage/libcage/cabundle"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/face"
	"github.com/agent-cage/agent-cage/libcage/gitdir"
	"github.com/agent-cage/agent-cage/libcage/host"
	"github.com/agent-cage/agent-cage/libcage/image"
	"github.com/agent-cage/agent-cage/libcage/lifecycle"
	"github.com/agent-cage/agent-cage/libcage/payload"
	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/planner"
	"github.com/agent-cage/agent-cage/libcage/state"
	"github.com/agent-cage/agent-cage/libcage/terminfo"
)

// facts are what a run needs to know of the host.
type facts struct {
	caller  *host.Caller
	project string
	mounts  []face.Mount
	// gitDir is the project's git directory, if it is outside of it.
	gitDir string
	// dockerfile extends the payload's image; nil if none does.
	dockerfile *host.Dockerfile
	// ca are the certificates that the host trusts.
	ca       cabundle.Bundle
	terminal plan.Terminal
	// terminfo describes the caller's terminal, if boxes may not know it.
	terminfo *terminfoEntry
	// timezone is the name of the host's, where TZ does not say it.
	timezone string
	warnings []string
}

func (l *launcher) gather() (*facts, error) {
	caller, err := host.FindCaller(l.getenv)
	if err != nil {
		return nil, err
	}
	project, err := host.Project(l.options.Dir, caller)
	if err != nil {
		return nil, err
	}
	if behind := host.BehindSudo(caller, project, l.getenv); behind != nil {
		caller = behind
		if project, err = host.Project(project, caller); err != nil {
			return nil, err
		}
	}
	if kept := l.stateTop(caller.Home); project == kept || host.Within(project, kept) {
		return nil, &host.RefusedError{What: "project directory", Path: project, Reason: "it holds the harness's login: start in a directory that holds a project"}
	}
	mounts, err := host.ResolveMounts(l.options.ExtraMounts, caller)
	if err != nil {
		return nil, err
	}
	ca, err := cabundle.Find(l.getenv, cabundle.ReadFile)
	if err != nil {
		return nil, &exitstatus.Fault{Kind: exitstatus.Usage, Err: err}
	}
	f := &facts{
		caller: caller, project: project, mounts: mounts, ca: ca,
		timezone: host.Timezone(disk{}),
		terminal: host.Terminal(l.sys.Stdin, l.sys.Stdout, l.sys.Stderr),
	}
	if l.options.Dockerfile != "" {
		if f.dockerfile, err = host.FindDockerfile(l.options.Dockerfile); err != nil {
			return nil, err
		}
	}
	if f.terminal.TTY {
		f.terminfo = l.findTerminfo()
	}
	if err := f.findGit(); err != nil {
		return nil, err
	}
	if err := l.refuseSockets(f); err != nil {
		return nil, err
	}
	if settings := ".env." + l.payload.Label; exists(filepath.Join(project, settings)) {
		f.warnings = append(f.warnings, settings+" of the project is not read: this version takes no settings from a project")
	}
	if owner, ok := host.Owner(project); ok && caller.UID == 0 && owner != 0 && l.options.User == nil {
		f.warnings = append(f.warnings, fmt.Sprintf("the project belongs to user %d, and what is not root's is not the harness's to write: start as that user, or with --user %d", owner, owner))
	}
	return f, nil
}

// refuseSockets makes sure that no mount brings an engine's socket along. Who
// talks to one is root on its machine.
func (l *launcher) refuseSockets(f *facts) error {
	own := strings.TrimPrefix(l.getenv("DOCKER_HOST"), "unix://")
	sources := []string{f.project, f.gitDir}
	for _, m := range f.mounts {
		sources = append(sources, m.Source)
	}
	for _, source := range sources {
		if source == "" {
			continue
		}
		if err := host.ThisMachine().Refuse(source, own); err != nil {
			return err
		}
	}
	return nil
}

// terminfoEntry is a terminal's description and its path in a terminfo
// directory.
type terminfoEntry struct {
	path    string
	content []byte
}

// everywhere are terminals that every image knows.
var everywhere = []string{"", "dumb", "ansi", "linux", "vt100", "vt220", "xterm", "xterm-256color", "screen", "screen-256color", "tmux", "tmux-256color"}

func (l *launcher) findTerminfo() *terminfoEntry {
	term := l.getenv("TERM")
	if slices.Contains(everywhere, term) {
		return nil
	}
	path, content, ok := terminfo.Find(term, l.getenv, os.ReadFile)
	if !ok {
		return nil
	}
	return &terminfoEntry{path: path, content: content}
}

// findGit notes where the project's git directory is, and says so if the box
// does not get it.
func (f *facts) findGit() error {
	var unproven *gitdir.UnprovenError
	dir, err := gitdir.Outside(f.project)
	switch {
	case errors.As(err, &unproven):
		f.warnings = append(f.warnings, unproven.Error())
	case err != nil:
		return err
	}
	f.gitDir = dir
	if top := gitdir.Above(f.project); top != "" {
		f.warnings = append(f.warnings, fmt.Sprintf("the project is a part of the repository %s, of which the box has nothing else: start there to use git", top))
	}
	return nil
}

// stateTop is the directory below home that a harness's state lies in.
func (l *launcher) stateTop(home string) string {
	top, _, _ := strings.Cut(l.payload.State.Host, "/")
	return filepath.Join(home, top)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// decide asks the engine what the plan depends on and makes the plan.
func (l *launcher) decide(ctx context.Context, client *engine.Client, f *facts, chain []image.Spec) (*planning, error) {
	engineFacts, warnings, err := l.askEngine(ctx, client)
	if err != nil {
		return nil, err
	}
	l.record.met(engineFacts)
	p := &planning{launcher: l, client: client, facts: f, engine: engineFacts, ladder: l.readLadder(engineFacts)}
	p.input = planner.Input{
		Payload:     l.payload,
		Image:       l.imageOf(f, chain),
		Options:     l.options,
		Caller:      f.caller,
		Project:     f.project,
		Terminal:    f.terminal,
		Terminfo:    f.terminfo != nil,
		Environ:     l.sys.Environ,
		GitDir:      f.gitDir,
		ExtraMounts: f.mounts,
		Timezone:    f.timezone,
		Engine:      planner.Engine{Host: engineFacts.host(), Ladder: p.ladder.Ladder},
		ReadState:   l.stateReader(f),
		Warnings:    append(f.warnings, warnings...),
		Random:      lifecycle.Random(),
	}
	p.reserveCache()
	if err := p.decide(); err != nil {
		return nil, err
	}
	return p, nil
}

// clockSlack is how far two clocks may be apart. Beyond it, tokens and
// certificates are taken for not yet valid or expired.
const clockSlack = 5 * time.Minute

// clockWarning says so if the engine's clock, and so the box's, is far off.
func clockWarning(info engine.Info, now time.Time) []string {
	off := info.Time.Sub(now).Round(time.Second)
	if info.Time.IsZero() || off.Abs() < clockSlack {
		return nil
	}
	return []string{fmt.Sprintf("the engine's clock is %v off this one's: set it right, or logins and TLS may fail", off)}
}

// seed makes the state directory and lets the payload put into it what a
// first session needs. A file of the harness's that cannot be read is left to
// the harness, with a warning; without room for what it needs there is no
// session.
func (l *launcher) seed(f *facts, home string) error {
	owner := state.Owner{UID: f.caller.UID, GID: f.caller.GID}
	dir, err := state.Open(f.caller.Home, l.payload.State.Host, owner)
	if err != nil {
		return err
	}
	defer dir.Close()
	if l.payload.State.Seed == nil || l.options.Exec {
		return nil
	}
	session := payload.Session{
		Project: f.project, Home: home, Getenv: l.getenv, ReadState: dir.ReadFile, Terminal: f.terminal.TTY,
	}
	err = l.payload.State.Seed(dir, session)
	if err != nil {
		err = fmt.Errorf("%s: %w", filepath.Join(f.caller.Home, l.payload.State.Host), err)
	}
	if err != nil && !full(err) {
		l.say.warn(err.Error())
		return nil
	}
	return err
}

// stateReader reads the state directory without making it.
func (l *launcher) stateReader(f *facts) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		return state.ReadFile(f.caller.Home, l.payload.State.Host, name)
	}
}

// disk is this machine's.
type disk struct{}

func (disk) Readlink(name string) (string, error) { return os.Readlink(name) }
func (disk) ReadFile(name string) ([]byte, error) { return os.ReadFile(name) }

// lookup returns a variable of an environment; the last one of a name counts.
func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if n, v, ok := strings.Cut(environ[i], "="); ok && n == name {
			return v
		}
	}
	return ""
}
