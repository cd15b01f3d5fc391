// Package planner decides a run: from what the caller asked for and what is
// known of the host and the engine it makes the plan. It is pure; whatever it
// needs from outside is in its Input.
package planner

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/face"
	"github.com/agent-cage/agent-cage/libcage/host"
	"github.com/agent-cage/agent-cage/libcage/lifecycle"
	"github.com/agent-cage/agent-cage/libcage/payload"
	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/posture"
)

// Input is all that a plan is made of.
type Input struct {
	Payload  *payload.Payload
	Image    plan.Image
	Options  *face.Options
	Caller   *host.Caller
	Project  string
	Terminal plan.Terminal
	// Environ is the caller's environment, NAME=value.
	Environ []string
	// StateOwner is whom the state directory belongs to, or will.
	StateOwner plan.Owner
	// GitDir is the project's git directory, if it is outside of it.
	GitDir string
	// ExtraMounts are those of the options, their sources resolved.
	ExtraMounts []face.Mount
	// Terminfo says that the terminal's description travels along.
	Terminfo bool
	// Timezone is the name of the host's; empty if it is unknown.
	Timezone string
	Engine   Engine
	// ReadState returns the content of a file of the state directory.
	ReadState func(name string) ([]byte, error)
	// Warnings are what is known already.
	Warnings []string
	// Random makes the box's name unique.
	Random string
}

// Engine is what the plan must know of the engine.
type Engine struct {
	posture.Host
	// Ladder is what a rootless engine in a box takes; nil if nobody knows yet.
	Ladder *posture.Ladder
	// Cache is the volume for what the engine in the box keeps; empty if it is
	// to keep nothing. CacheTaken says that another box has it.
	Cache      string
	CacheTaken bool
}

// Decision is a plan and the values that go with its names.
type Decision struct {
	Plan *plan.Plan
	// Env is the harness's environment, NAME=value. It may hold secrets.
	Env []string
}

// Decide makes the plan of a run. An error is an *exitstatus.Fault.
func Decide(in Input) (*Decision, error) {
	if in.Options.Exec && len(in.Options.Args) == 0 {
		return nil, exitstatus.Faultf(exitstatus.Usage, "--exec needs a command: --exec -- COMMAND [ARGUMENTS]")
	}
	p := &plan.Plan{
		Label:    in.Payload.Label,
		Name:     in.Options.Name,
		Hostname: in.Payload.Label,
		Image:    in.Image,
		Init:     needs.Init,
		Project:  plan.Project{Dir: in.Project, WorkDir: in.Project, Reason: projectReason(in.Options.Dir)},
		Labels:   lifecycle.BoxLabels(in.Payload.Label, in.Project),
		Network:  plan.Network{Mode: in.Options.Network},
		Limits:   in.Options.Limits,
		Terminal: in.Terminal,
		Command:  command(in.Payload, in.Options),
		Tmpfs:    []plan.Tmpfs{{Target: needs.RunDir, Mode: 0o755, Reason: "what travels with the handshake, never on a disk"}},
	}
	if p.Name == "" {
		p.Name = lifecycle.Name(in.Payload.Label, in.Project, in.Random)
	}
	if p.Network.Mode != "" {
		p.Network.Reason = "--network"
	}
	var err error
	if p.User, err = decideUser(in.Caller, in.Options.User, in.Engine); err != nil {
		return nil, err
	}
	given, err := posture.Resolve(posture.Input{
		Asked: in.Options.Engine, Start: in.Options.EngineStart, Host: in.Engine.Host, Ladder: in.Engine.Ladder,
	})
	if err != nil {
		return nil, err
	}
	p.Posture, p.Security, p.GPUs = given.Posture, given.Security, in.Options.GPUs
	p.Devices = slices.Concat(given.Devices, devices(in.Options))
	p.Warnings = append(slices.Clone(in.Warnings), given.Warnings...)
	if err := decideEngine(in, p); err != nil {
		return nil, err
	}
	if p.Mounts, err = decideMounts(in, p); err != nil {
		return nil, err
	}
	p.Security.CapAdd = capabilities(p)
	env, names := decideEnv(in, p)
	p.Env = names
	return &Decision{Plan: p, Env: env}, nil
}

func projectReason(dir string) string {
	if dir == "" {
		return "the current directory"
	}
	return "the directory argument"
}

// devices are those that the caller asked for.
func devices(o *face.Options) (list []plan.Device) {
	for _, path := range o.GPUDevices {
		list = append(list, plan.Device{Path: path, Required: true, Reason: "--gpus"})
	}
	if o.KVM {
		list = append(list, plan.Device{Path: "/dev/kvm", Required: true, Reason: "--kvm"})
	}
	return list
}

// agentID is the harness's id in the box where the caller's own will not do.
const agentID = 1000

// decideUser keeps the caller's ids, so that files have the same owner on
// both sides. Root's files are shown as an ordinary user's instead: a process
// with kernel uid 0 can write to /proc what reaches the host, whatever
// capabilities it lacks.
func decideUser(c *host.Caller, asked *face.User, e Engine) (plan.User, error) {
	u := plan.User{Name: cmp.Or(c.Name, "agent"), Home: c.Home, HostUID: c.UID, HostGID: c.GID}
	switch {
	case asked != nil:
		u.UID, u.GID, u.HostUID, u.HostGID = asked.UID, asked.GID, asked.UID, asked.GID
		u.Reason = "--user"
	case e.UserNamespace && (c.UID == 0 || c.GID == 0):
		return u, exitstatus.Faultf(exitstatus.EngineStartFailed,
			"the engine runs boxes in a user namespace (it is rootless, or remaps ids), where files of root cannot be shown as another user's: start as an ordinary user, or give --user UID:GID")
	case e.UserNamespace:
		u.UID, u.GID, u.Mapped = c.UID, c.GID, true
		u.Reason = "the caller's own ids, by those that they have in the engine's user namespace, so files have the same owner on both sides"
	case c.UID == 0:
		u.UID, u.GID = agentID, agentID
		u.Name = "agent"
		u.Reason = "the harness is never root: files of root are shown as its own by idmapped mounts"
	default:
		u.UID, u.GID = c.UID, c.GID
		u.Reason = "the caller's own ids, so files have the same owner on both sides"
		if c.GID == 0 {
			u.GID = agentID
			u.Reason = "the caller's own uid; files of root's group are shown as its own by idmapped mounts"
		}
	}
	return u, nil
}

func command(p *payload.Payload, o *face.Options) plan.Command {
	if o.Exec {
		return plan.Command{Argv: o.Args, Reason: "--exec: the arguments are the command"}
	}
	return plan.Command{
		Argv:   slices.Concat(p.Command, o.Args),
		Reason: p.Title + " with the caller's arguments",
	}
}

// capabilities are those of cage-init, and what its posture adds to them.
func capabilities(p *plan.Plan) []plan.Capability {
	switch p.Posture.Mode {
	case plan.PrivilegedDind:
		return nil // it has them all
	case plan.Sysbox:
		return []plan.Capability{{Name: "ALL", Reason: "of the box's own user namespace, which Sysbox makes: for the engine inside; the harness has none"}}
	}
	caps := needs.Capabilities(p.User, p.Mounts)
	for _, c := range p.Security.CapAdd {
		has := func(other plan.Capability) bool { return other.Name == c.Name }
		if i := slices.IndexFunc(caps, has); i >= 0 {
			caps[i].Reason += "; " + c.Reason
		} else {
			caps = append(caps, c)
		}
	}
	return caps
}

// decideEngine gives the engine in the box a place for what it keeps, which is
// not the box's own layer: the kernel does not lay an overlay upon one.
func decideEngine(in Input, p *plan.Plan) error {
	if p.Posture.Start == "" {
		return nil
	}
	if p.Posture.Mode == plan.Sysbox && p.User.Idmap() != nil {
		return exitstatus.Faultf(exitstatus.EngineStartFailed,
			"Sysbox runs boxes in a user namespace, where files of root cannot be shown as another user's: start as an ordinary user, or give --user UID:GID")
	}
	v := plan.Volume{Target: needs.EngineDir}
	switch {
	case in.Engine.Cache == "":
		v.Reason = "what the engine inside keeps, until the box ends"
	case in.Engine.CacheTaken:
		v.Reason = "what the engine inside keeps, until the box ends: another box has the project's volume"
		p.Warnings = append(p.Warnings, "another box of this project has its images and containers: the engine in this one starts empty, and what it makes goes with the box")
	default:
		v.Name = in.Engine.Cache
		v.Labels = map[string]string{lifecycle.LabelKind: lifecycle.KindEngineCache, lifecycle.LabelProject: in.Project}
		v.Reason = "what the engine inside keeps for the project's next box"
	}
	p.Volumes = []plan.Volume{v}
	return nil
}

func decideMounts(in Input, p *plan.Plan) ([]plan.Mount, error) {
	shown := p.User.Idmap()
	mounts := []plan.Mount{
		{Source: in.Project, Target: in.Project, Idmap: shown, Reason: "the project, at its own path"},
		decideState(in, p),
	}
	if in.GitDir != "" {
		mounts = append(mounts, plan.Mount{Source: in.GitDir, Target: in.GitDir, Idmap: shown, Reason: "the git directory of the project, which is outside of it"})
	}
	for _, m := range in.ExtraMounts {
		mounts = append(mounts, plan.Mount{
			Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly, Idmap: shown,
			Reason: in.Payload.Prefix + "_EXTRA_MOUNTS",
		})
	}
	taken := map[string]string{}
	for _, m := range mounts {
		if reason := reserved(m.Target); reason != "" {
			return nil, exitstatus.Faultf(exitstatus.Usage, "mount target %q: %s", m.Target, reason)
		}
		if other, ok := taken[m.Target]; ok {
			return nil, exitstatus.Faultf(exitstatus.Usage, "mount target %q is taken twice: by %s and by %s", m.Target, other, m.Reason)
		}
		taken[m.Target] = m.Reason
	}
	return mounts, nil
}

// decideState mounts the harness's login and sessions. They are the caller's
// also where --user makes the harness somebody else.
func decideState(in Input, p *plan.Plan) plan.Mount {
	m := plan.Mount{
		Source: filepath.Join(in.Caller.Home, in.Payload.State.Host),
		Target: filepath.Join(p.User.Home, in.Payload.State.Box),
		Idmap:  p.User.Idmap(),
		Reason: "the harness's login and sessions",
	}
	if in.Options.User == nil || in.StateOwner.UID == p.User.HostUID {
		return m
	}
	if in.Engine.UserNamespace || p.Posture.Mode == plan.Sysbox {
		p.Warnings = append(p.Warnings, fmt.Sprintf(
			"--user: %s belongs to user %d and cannot be shown as another's on this engine: the harness can neither read nor keep its login and sessions", m.Source, in.StateOwner.UID))
		return m
	}
	m.Idmap = &in.StateOwner
	return m
}

// reserved says why a target cannot be mounted over.
func reserved(target string) string {
	if target == "/" {
		return "it is the box's root"
	}
	for _, dir := range []string{"/proc", "/sys", "/dev", needs.RunDir, needs.BinaryDir, needs.EngineDir} {
		if target == dir || host.Within(target, dir) || host.Within(dir, target) {
			return fmt.Sprintf("the box needs its own %s", dir)
		}
	}
	return ""
}

// sortedKeys returns the keys of m in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// session is what the payload may know.
func (in Input) session(u plan.User) payload.Session {
	return payload.Session{
		Project: in.Project, Home: u.Home, Getenv: in.getenv, ReadState: in.ReadState, Terminal: in.Terminal.TTY,
	}
}

func (in Input) getenv(name string) string {
	for _, pair := range slices.Backward(in.Environ) {
		if n, v, ok := strings.Cut(pair, "="); ok && n == name {
			return v
		}
	}
	return ""
}
