package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/agent-cage/agent-cage/libcage/atomicfile"
	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/lifecycle"
	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/posture"
)

// keptLadder is what the probes found on an engine, and what that depends on.
// Only successes are kept: a failure may have been mended since.
type keptLadder struct {
	Image  string          `json:"image"`
	Kernel string          `json:"kernel"`
	Ladder *posture.Ladder `json:"ladder"`
	// Socket is the engine's: another one may be that of another boot, whose
	// kernel has no profile yet. Empty if the engine has none here.
	Socket string `json:"socket,omitempty"`
}

// profiled reports whether the kernel has the profile that the rung needs.
func (k *keptLadder) profiled(socket string) bool {
	return !posture.NeedsProfile(k.Ladder.Rung) || socket != "" && k.Socket == socket
}

func (l *launcher) ladderPath(f engineFacts) string {
	sum := sha256.Sum256([]byte(f.ID))
	return filepath.Join(l.stateHome(), "engines", hex.EncodeToString(sum[:8])+".ladder.json")
}

// readLadder returns what is known of an engine with its kernel.
func (l *launcher) readLadder(f engineFacts) (kept keptLadder) {
	data, err := os.ReadFile(l.ladderPath(f))
	if err != nil || json.Unmarshal(data, &kept) != nil || kept.Kernel != f.Kernel || kept.Ladder == nil || !kept.Ladder.Works() {
		return keptLadder{}
	}
	return kept
}

func (l *launcher) writeLadder(f engineFacts, kept keptLadder) {
	data, err := json.Marshal(kept)
	if err == nil {
		err = atomicfile.Write(l.ladderPath(f), data)
	}
	if err != nil {
		l.say.debug("ladder: %v", err)
	}
}

// prober tries things in containers of the cage's image.
type prober struct {
	*launcher
	client *engine.Client
	image  string
}

// plan is a container that is given what the box of an ordinary user is.
func (p *prober) plan(security plan.Security) *plan.Plan {
	made := &plan.Plan{
		Label: p.payload.Label, Name: "cage-probe-" + lifecycle.Random(), Hostname: "probe",
		Image:    plan.Image{Ref: p.image},
		Network:  plan.Network{Mode: "none"},
		Labels:   map[string]string{lifecycle.LabelKind: lifecycle.KindProbe, lifecycle.LabelLauncher: p.payload.Label},
		Security: security,
	}
	if p.host != nil {
		maps.Copy(made.Labels, p.host.Self.Labels())
	}
	made.Security.CapAdd = append(needs.Capabilities(plan.User{UID: probeUser, HostUID: probeUser}, nil), security.CapAdd...)
	return made
}

// probeUser is who the probes act as.
const probeUser = 1000

// Opens implements posture.Prober.
func (p *prober) Opens(ctx context.Context, device string) (bool, error) {
	made := p.plan(plan.Security{})
	made.Devices = []plan.Device{{Path: device}}
	_, status, err := p.client.RunOnce(ctx, made, []string{"/bin/sh", "-c", `exec 3<>"$0"`, device})
	var refused *engine.LaunchError
	if errors.As(err, &refused) {
		return false, nil
	}
	return err == nil && status == 0, err
}

// Try implements posture.Prober.
func (p *prober) Try(ctx context.Context, security plan.Security) error {
	said, status, err := p.client.RunOnce(ctx, p.plan(security), []string{"/bin/sh", "-c", posture.ProbeScript, "probe", fmt.Sprint(probeUser)})
	var refused *engine.LaunchError
	switch {
	case errors.As(err, &refused):
		return &posture.RefusedError{Reason: refused.Error()}
	case err != nil:
		return err
	case status != 0:
		return &posture.RefusedError{Reason: said}
	}
	return nil
}

// LoadProfile implements posture.Prober.
func (p *prober) LoadProfile(ctx context.Context) error {
	made := p.plan(plan.Security{})
	made.Security = plan.Security{Privileged: true}
	made.Mounts = []plan.Mount{{Source: posture.SecurityFS, Target: posture.SecurityFS}}
	said, status, err := p.client.RunOnce(ctx, made, posture.LoadProfile())
	if err == nil && status != 0 {
		err = errors.New(said)
	}
	return err
}
