// Package face is what a launcher shows its caller: the flags it takes out of
// the command line and the variables it reads. Everything else on the command
// line is the harness's and stays as it is.
package face

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

// Options are a launcher's settings, after flags and variables.
type Options struct {
	// Action is what to do instead of a run.
	Action Action
	// Engine is the posture asked for.
	Engine plan.Mode
	// EngineStart is when its engine starts.
	EngineStart plan.Start
	// EngineCache keeps what the engine inside makes for the next box.
	EngineCache bool
	// Name is the container's name; empty lets the launcher make one.
	Name string
	// NameFile is where the box's name is published, as given; empty is nowhere.
	NameFile string
	// Network is the engine's network mode; empty is the engine's default.
	Network string
	// Limits bound the box; zero values mean no limit.
	Limits plan.Limits
	// User replaces the harness's identity; nil is the caller's.
	User *User
	// Dockerfile is one that the box's image is extended by; empty is none.
	Dockerfile string
	// GPUs are graphics processors that a driver of the engine's gives the box,
	// GPUDevices the paths of those that are given as they are.
	GPUs       []plan.GPU
	GPUDevices []string
	// KVM gives the box the processor's virtualization.
	KVM bool
	// Exec runs Args as the in-box command, instead of the harness.
	Exec bool
	// Form is how a dry run prints the plan.
	Form Form
	// Debug prints to stderr what the launcher does.
	Debug bool
	// Dir is the directory argument, as given; empty is the current one.
	Dir string
	// Args are what is left: the harness's arguments.
	Args []string
	// ExtraVars names further variables to forward.
	ExtraVars []string
	// ExtraMounts are further mounts.
	ExtraMounts []Mount
}

// Action is what a launcher does.
type Action int

// The actions of a launcher.
const (
	Run Action = iota
	DryRun
	Upgrade
	Version
	Help
)

// Form is a way to print a plan.
type Form string

// The forms of a plan.
const (
	// ForPeople says what would be done, and why.
	ForPeople Form = ""
	// AsJSON is the plan as data.
	AsJSON Form = "json"
	// AsDocker is the docker command that makes an equal container.
	AsDocker Form = "docker"
)

// User is a --user value.
type User struct{ UID, GID uint32 }

// Mount is a line of PREFIX_EXTRA_MOUNTS.
type Mount struct {
	Source, Target string
	ReadOnly       bool
}

// UsageError is a bad flag, value or variable. It says which.
type UsageError struct {
	Problem string
	// Err is what was wrong with a flag's value, if that is typed.
	Err error
}

func (e *UsageError) Error() string { return e.Problem }

func (e *UsageError) Unwrap() error { return e.Err }

// NameError is a --name that no container can have.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf("invalid container name %q: only [a-zA-Z0-9][a-zA-Z0-9_.-]+ is allowed", e.Name)
}

func usagef(format string, args ...any) error {
	return &UsageError{Problem: fmt.Sprintf(format, args...)}
}

// Grammar is what differs between launchers.
type Grammar struct {
	// Prefix is that of the variables: CLAUDE_BOX.
	Prefix string
	// DirArgument lets the first argument name the project directory.
	DirArgument bool
}

// Parse reads a launcher's arguments, without the program's name, and its
// variables. Flags win over variables. An error is a *UsageError.
//
// Flags are taken out wherever they stand before a "--", which is dropped.
// Those that take something of the wall away are taken only before the first
// argument of the harness, so that a prompt cannot be one.
func Parse(g Grammar, args []string, getenv func(string) string) (*Options, error) {
	o := &Options{Engine: plan.Auto, EngineStart: plan.OnDemand, EngineCache: true}
	if err := o.readVariables(g, getenv); err != nil {
		return nil, err
	}
	p := parser{options: o, rest: args}
	if err := p.run(); err != nil {
		return nil, err
	}
	if g.DirArgument && !o.Exec && p.before > 0 && namesDirectory(o.Args[0]) {
		o.Dir, o.Args = o.Args[0], o.Args[1:]
		p.wideAfterFirst = nil
	}
	if p.wideAfterFirst != nil {
		return nil, p.wideAfterFirst
	}
	return o, nil
}

// namesDirectory reports whether a first argument is a directory by its form.
func namesDirectory(arg string) bool {
	return arg == "." || arg == ".." || arg == "~" || strings.HasPrefix(arg, "/") ||
		strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, "../") || strings.HasPrefix(arg, "~/")
}

type parser struct {
	options *Options
	rest    []string
	// before counts the arguments kept before any "--".
	before int
	// wideAfterFirst is the refusal of a widening flag behind one kept
	// argument, due unless that one turns out to be the directory.
	wideAfterFirst error
}

func (p *parser) run() error {
	for len(p.rest) > 0 {
		arg := p.rest[0]
		p.rest = p.rest[1:]
		if arg == "--" {
			p.options.Args = append(p.options.Args, p.rest...)
			return nil
		}
		name, value, inline := strings.Cut(arg, "=")
		i := slices.IndexFunc(flags, func(f flag) bool { return f.name == name })
		if slices.Contains(later, name) {
			return usagef("%s: this version has not got it: put it behind -- if it is the harness's", name)
		}
		if i < 0 {
			p.before++
			p.options.Args = append(p.options.Args, arg)
			continue
		}
		if err := p.take(flags[i], value, inline); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) take(f flag, value string, inline bool) error {
	switch {
	case f.value == "" && inline:
		return usagef("%s takes no value", f.name)
	case f.value != "" && !inline && !f.optional:
		if len(p.rest) == 0 {
			return usagef("%s needs a value: %s %s", f.name, f.name, f.value)
		}
		value, p.rest = p.rest[0], p.rest[1:]
	}
	if p.before > 0 && f.widens(value) {
		late := usagef("%s takes part of the wall away, so it must stand before the harness's own arguments", strings.TrimSpace(f.name+" "+value))
		if p.before > 1 {
			return late
		}
		p.wideAfterFirst = late
	}
	if err := f.set(p.options, value); err != nil {
		return &UsageError{Problem: fmt.Sprintf("%s: %v", f.name, err), Err: err}
	}
	return nil
}
