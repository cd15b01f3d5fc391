// Package posture decides what kind of container engine a box has inside, and
// what the box is given for it. It is pure but for the ladder's probes, which
// are the caller's to make.
package posture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/posture/seccomp"
)

// SeccompName is what people call the profile that Seccomp returns.
const SeccompName = seccomp.Name

// Seccomp returns the JSON of the system call filter of a box, the same in
// every posture that has one.
func Seccomp() string { return seccomp.Profile }

// SysboxRuntime is the name under which an engine offers Sysbox.
const SysboxRuntime = "sysbox-runc"

// Input is what a posture is decided from.
type Input struct {
	// Asked is the mode that was asked for, Start when its engine is to start.
	Asked plan.Mode
	Start plan.Start
	Host  Host
	// Ladder is what the probes found; nil if there were none yet.
	Ladder *Ladder
}

// Host is what is known of the engine that runs the boxes.
type Host struct {
	// Runtimes are the names of its OCI runtimes.
	Runtimes []string
	// AppArmor says that it confines containers with it.
	AppArmor bool
	// UserNamespace says that it runs containers in a user namespace.
	UserNamespace bool
}

// Decision is a posture and what the box is given for it.
type Decision struct {
	Posture plan.Posture
	// Security lacks the capabilities that cage-init needs in any posture.
	Security plan.Security
	Devices  []plan.Device
	Warnings []string
}

// NeedsLadder reports whether a mode depends on the ladder's probes.
func NeedsLadder(asked plan.Mode, h Host) bool {
	return !h.UserNamespace && (asked == plan.Rootless || asked == plan.Auto && !h.sysbox())
}

func (h Host) sysbox() bool { return slices.Contains(h.Runtimes, SysboxRuntime) }

// Resolve decides a posture. The error is an *exitstatus.Fault: an engine that
// lacks what was asked for.
func Resolve(in Input) (Decision, error) {
	switch in.Asked {
	case plan.None:
		return in.none("--engine none"), nil
	case plan.PrivilegedDind:
		return in.privileged(), nil
	case plan.Sysbox:
		if !in.Host.sysbox() {
			return Decision{}, exitstatus.Faultf(exitstatus.EngineStartFailed,
				"--engine sysbox: the engine has no runtime %s (it has %s): install Sysbox, or use --engine rootless",
				SysboxRuntime, strings.Join(slices.Sorted(slices.Values(in.Host.Runtimes)), ", "))
		}
		return in.sysbox("--engine sysbox"), nil
	case plan.Rootless:
		return in.rootless("--engine rootless"), nil
	default:
		if in.Host.sysbox() {
			return in.sysbox("auto: the engine has the runtime " + SysboxRuntime), nil
		}
		return in.rootless("auto: the engine has no runtime " + SysboxRuntime), nil
	}
}

func (in Input) none(reasons ...string) Decision {
	return Decision{Posture: plan.Posture{Mode: plan.None, Reasons: reasons}, Security: in.tight()}
}

func (in Input) sysbox(reason string) Decision {
	return Decision{
		Posture:  plan.Posture{Mode: plan.Sysbox, Start: in.Start, Reasons: []string{reason}},
		Security: plan.Security{Runtime: SysboxRuntime, Seccomp: Seccomp(), SeccompName: SeccompName},
	}
}

// unwalled is what a privileged box can do to its host.
const unwalled = "--engine privileged-dind: the box is not walled off from the engine's host: containers in it can open the host's disks and memory, load kernel modules, and change the host's kernel settings"

func (in Input) privileged() Decision {
	return Decision{
		Posture:  plan.Posture{Mode: plan.PrivilegedDind, Start: in.Start, Reasons: []string{"--engine privileged-dind"}},
		Security: plan.Security{Privileged: true, SeccompName: "unconfined"},
		Warnings: []string{unwalled},
	}
}

// voidLimits is said of rootless engines: the box's control groups are not
// theirs to divide.
const voidLimits = "limits of single containers inside (docker run --memory, --cpus, --pids-limit) are void: the box's own --memory, --cpus and --pids-limit cover them all"

func (in Input) rootless(reason string) Decision {
	switch {
	case in.Host.UserNamespace:
		return in.unsupported(reason, []string{"the engine itself runs boxes in a user namespace (it is rootless, or remaps ids), which has no ids left for the one of an engine inside"},
			"use a rootful engine for the boxes, or --engine none")
	case in.Ladder == nil:
		d := in.climbed(reason, plan.Plain)
		d.Posture.Reasons = append(d.Posture.Reasons, "not tried yet on this engine: the first run does, and gives more if it must")
		return d
	case in.Ladder.Rung == plan.Unsupported:
		return in.unsupported(reason, in.Ladder.failures(),
			"allow unprivileged user namespaces on the engine's machine (cage doctor), or use --engine none")
	}
	d := in.climbed(reason, in.Ladder.Rung)
	d.Posture.Reasons = append(d.Posture.Reasons, in.Ladder.failures()...)
	for _, path := range in.Ladder.Devices {
		d.Devices = append(d.Devices, plan.Device{Path: path, Reason: deviceReasons[path]})
	}
	if in.Ladder.Fresh {
		d.Warnings = append(d.Warnings, voidLimits)
	}
	return d
}

// climbed is a rootless engine on a rung that works.
func (in Input) climbed(reason string, rung plan.Rung) Decision {
	s := in.tight()
	s.UnmaskProc = true
	given := given[rung]
	if given.profile {
		s.AppArmor, s.AppArmorReason = AppArmorProfile, "the kernel lets only programs with a profile make user namespaces"
	}
	if given.admin {
		const reason = "for the bounding set of the rootless engine, where newuidmap is setuid root and maps no ids without it; neither engine nor harness has it"
		for _, name := range RungCapabilities() {
			s.CapAdd = append(s.CapAdd, plan.Capability{Name: name, Reason: reason})
		}
	}
	d := Decision{
		Posture:  plan.Posture{Mode: plan.Rootless, Rung: rung, Start: in.Start, Reasons: []string{reason, voidLimits}},
		Security: s,
	}
	if given.profile {
		d.Posture.Helper = LoadProfile()
	}
	return d
}

// RungCapabilities are those that the rungs with capabilities add.
func RungCapabilities() []string { return []string{"SYS_ADMIN", "DAC_OVERRIDE"} }

// unsupported is a box without an engine where one was wanted.
func (in Input) unsupported(reason string, failures []string, next string) Decision {
	d := in.none(append([]string{reason, "no rootless engine works here"}, failures...)...)
	d.Warnings = []string{fmt.Sprintf("the box has no container engine inside: %s: %s", strings.Join(failures, "; "), next)}
	return d
}

// tight is what every box has that is not given more.
func (in Input) tight() plan.Security {
	s := plan.Security{Seccomp: Seccomp(), SeccompName: SeccompName}
	if in.Host.AppArmor {
		s.AppArmor = "unconfined"
		s.AppArmorReason = "the engine's default profile denies every mount, also those that cage-init and bubblewrap make"
	}
	return s
}
