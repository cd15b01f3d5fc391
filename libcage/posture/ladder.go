package posture

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

// AppArmorProfile is the name of the profile that allows user namespaces.
const AppArmorProfile = "agent-cage-engine"

// Ladder is what the probes found on an engine.
type Ladder struct {
	// Rung is the first one that works.
	Rung plan.Rung `json:"rung"`
	// Failures are the rungs below it, and why they do not.
	Failures []Failure `json:"failures,omitempty"`
	// Devices are those of the host that a rootless engine uses and that open.
	Devices []string `json:"devices,omitempty"`
	// Fresh says that this was found out just now.
	Fresh bool `json:"-"`
}

// Failure is a rung that does not work.
type Failure struct {
	Rung   plan.Rung `json:"rung"`
	Reason string    `json:"reason"`
}

// Works reports whether a rootless engine works on one of the rungs.
func (l *Ladder) Works() bool {
	_, known := given[l.Rung]
	return known
}

func (l *Ladder) failures() []string {
	var list []string
	for _, f := range l.Failures {
		list = append(list, fmt.Sprintf("%s: %s", f.Rung, f.Reason))
	}
	return list
}

// given is what each rung has beyond what every rootless box has.
var given = map[plan.Rung]struct{ profile, admin bool }{
	plan.Plain:      {},
	plan.Profile:    {profile: true},
	plan.ProfileCap: {profile: true, admin: true},
	plan.Cap:        {admin: true},
}

// Rungs are those to be tried, in this order.
func Rungs() []plan.Rung {
	return []plan.Rung{plan.Plain, plan.Profile, plan.ProfileCap, plan.Cap}
}

// NeedsProfile reports whether a rung is tried with the AppArmor profile.
func NeedsProfile(r plan.Rung) bool { return given[r].profile }

// Devices are those that a rootless engine uses, if the host has them: with
// /dev/net/tun its containers reach the network, with /dev/fuse there is
// fuse-overlayfs where the kernel's own overlay will not do.
func Devices() []string { return []string{"/dev/net/tun", "/dev/fuse"} }

var deviceReasons = map[string]string{
	"/dev/net/tun": "the network of containers inside",
	"/dev/fuse":    "fuse-overlayfs of the engine inside",
}

// ProbeScript is what a probe runs in the cage's image, as root with the box's
// capabilities: it takes the steps that an engine and bubblewrap begin with, as
// the user that $1 is the id of, and tells on stderr which one failed.
//
//go:embed probe.sh
var ProbeScript string

// Prober tries things in containers of the cage's image.
type Prober interface {
	// LoadProfile loads the AppArmor profile into the engine's kernel.
	LoadProfile(ctx context.Context) error
	// Opens reports whether a container may be given a device and can open it.
	Opens(ctx context.Context, device string) (bool, error)
	// Try runs ProbeScript with what a box has on a rung. A step that fails is
	// a *RefusedError; other errors say that there is no answer.
	Try(ctx context.Context, security plan.Security) error
}

// RefusedError is a step of a probe that the kernel or the engine refused.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// Climb tries the rungs until one works. The error is the Prober's when it has
// no answer.
func Climb(ctx context.Context, p Prober, h Host) (*Ladder, error) {
	l := &Ladder{Rung: plan.Unsupported, Fresh: true}
	for _, device := range Devices() {
		opens, err := p.Opens(ctx, device)
		if err != nil {
			return nil, err
		}
		if opens {
			l.Devices = append(l.Devices, device)
		}
	}
	var noProfile string
	for _, rung := range Rungs() {
		reason := ""
		switch {
		case NeedsProfile(rung) && !h.AppArmor:
			reason = "the engine's kernel has no AppArmor"
		case NeedsProfile(rung) && noProfile == "" && rung == plan.Profile:
			if err := p.LoadProfile(ctx); err != nil {
				noProfile = "the profile " + AppArmorProfile + " cannot be loaded: " + oneLine(err.Error())
			}
		}
		if NeedsProfile(rung) && reason == "" {
			reason = noProfile
		}
		if reason == "" {
			err := p.Try(ctx, Input{Host: h}.climbed("", rung).Security)
			if err == nil {
				l.Rung = rung
				return l, nil
			}
			var refused *RefusedError
			if !errors.As(err, &refused) {
				return nil, err
			}
			reason = oneLine(refused.Reason)
		}
		l.Failures = append(l.Failures, Failure{rung, reason})
	}
	return l, nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
