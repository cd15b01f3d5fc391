package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-cage/agent-cage/libcage/cabundle"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/face"
	"github.com/agent-cage/agent-cage/libcage/gitdir"
	"github.com/agent-cage/agent-cage/libcage/handshake"
	"github.com/agent-cage/agent-cage/libcage/host"
	"github.com/agent-cage/agent-cage/libcage/image"
	"github.com/agent-cage/agent-cage/libcage/lifecycle"
	"github.com/agent-cage/agent-cage/libcage/payload"
	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/planner"
	"github.com/agent-cage/agent-cage/libcage/state"
	"github.com/agent-cage/agent-cage/libcage/terminfo"
	"github.com/agent-cage/agent-cage/libcage/witness"
)

// facts are what a run needs to know of the host.
type facts struct {
	caller  *host.Caller
	project string
	// stateOwner is whom the state directory belongs to, or will.
	stateOwner plan.Owner
	// mark is what the launch leaves in the state directory.
	mark   string
	mounts []face.Mount
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

// gather looks at the host. It may wait for a file system that does not answer:
// a signal ends that.
func (l *launcher) gather(ctx context.Context) (*facts, error) {
	if l.options.Action == face.Upgrade {
		return await(ctx, l.lookAround)
	}
	return await(ctx, l.look)
}

// lookAround is look without a project, for what is done in none.
func (l *launcher) lookAround() (*facts, error) {
	caller, err := host.FindCaller(l.getenv)
	if err != nil {
		return nil, err
	}
	f := &facts{caller: caller}
	if f.ca, err = cabundle.Find(l.getenv, cabundle.ReadFile); err != nil {
		return nil, &exitstatus.Fault{Kind: exitstatus.Usage, Err: err}
	}
	if l.options.Dockerfile != "" {
		f.dockerfile, err = host.FindDockerfile(l.options.Dockerfile)
	}
	return f, err
}

func (l *launcher) look() (*facts, error) {
	f, err := l.lookAround()
	if err != nil {
		return nil, err
	}
	caller := f.caller
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
	if err := l.checkGroups(f, caller, project); err != nil {
		return nil, err
	}
	if kept := l.stateTop(caller.Home); project == kept || host.Within(project, kept) {
		return nil, &host.RefusedError{What: "project directory", Path: project, Reason: "it holds the harness's login: start in a directory that holds a project"}
	}
	if f.mounts, err = host.ResolveMounts(l.options.ExtraMounts, caller); err != nil {
		return nil, err
	}
	f.caller, f.project, f.stateOwner = caller, project, l.stateOwner(caller)
	f.timezone = host.Timezone(disk{})
	f.terminal = host.Terminal(l.sys.Stdin, l.sys.Stdout, l.sys.Stderr)
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

// checkGroups refuses a project that is the caller's through a supplementary
// group, which the box does not have, and says so of one that is only to write
// through it.
func (l *launcher) checkGroups(f *facts, caller *host.Caller, project string) error {
	groups, err := os.Getgroups()
	if err != nil || l.options.User != nil || int(caller.UID) != os.Getuid() {
		return nil //nolint:nilerr // without groups nothing comes through one
	}
	only, group := host.AccessByGroup(project, caller, groups)
	way := fmt.Sprintf("your group %d, which a box does not have besides your own: start with --user %d:%d", group, caller.UID, group)
	switch {
	case only&(host.Read|host.Enter) != 0:
		return &host.RefusedError{What: "project directory", Path: project, Reason: "it is yours to read through " + way}
	case only != 0:
		f.warnings = append(f.warnings, "the project is yours to write through "+way)
	}
	return nil
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

// stateOwner is the caller, or the user whom --user names if the state
// directory was given to that one.
func (l *launcher) stateOwner(c *host.Caller) plan.Owner {
	owner := plan.Owner{UID: c.UID, GID: c.GID}
	if asked := l.options.User; asked != nil {
		if has, ok := host.Owner(filepath.Join(c.Home, l.payload.State.Host)); ok && has == asked.UID {
			owner = plan.Owner(*asked)
		}
	}
	return owner
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// decide asks the engine what the plan depends on and makes the plan.
func (l *launcher) decide(ctx context.Context, client *engine.Client, f *facts, chain []image.Spec) (*planning, error) {
	engineFacts, err := l.askEngine(ctx, client)
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
		StateOwner:  f.stateOwner,
		GitDir:      f.gitDir,
		ExtraMounts: f.mounts,
		Timezone:    f.timezone,
		Engine:      planner.Engine{Host: engineFacts.host(), Ladder: p.ladder.Ladder},
		ReadState:   l.stateReader(f),
		Warnings:    f.warnings,
		Random:      lifecycle.Random(),
	}
	p.reserveCache()
	if err := p.decide(); err != nil {
		return nil, err
	}
	return p, nil
}

// seed makes the state directory and lets the payload put into it what a
// first session needs. A file of the harness's that cannot be read is left to
// the harness, with a warning; without room for what it needs there is no
// session.
func (l *launcher) seed(f *facts, home string) error {
	dir, err := state.Open(f.caller.Home, l.payload.State.Host, state.Owner(f.stateOwner))
	if err != nil {
		return err
	}
	defer dir.Close()
	where := filepath.Join(f.caller.Home, l.payload.State.Host)
	f.mark = handshake.NewNonce()
	if err := witness.Leave(dir, f.mark); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	if l.payload.State.Seed == nil || l.options.Exec {
		return nil
	}
	session := payload.Session{
		Project: f.project, Home: home, Getenv: l.getenv, ReadState: dir.ReadFile, Terminal: f.terminal.TTY,
	}
	err = l.payload.State.Seed(dir, session)
	if err != nil {
		err = fmt.Errorf("%s: %w", where, err)
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
