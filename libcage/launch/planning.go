package launch

import (
	"context"
	"slices"

	"github.com/agent-cage/agent-cage/images"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/face"
	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/planner"
	"github.com/agent-cage/agent-cage/libcage/posture"
)

// planning is a plan in the making. What a rootless engine takes is found out
// with the image, which is built only after the plan's mistakes are known: so
// the plan may be made twice.
type planning struct {
	*launcher
	client   *engine.Client
	facts    *facts
	engine   engineFacts
	ladder   keptLadder
	input    planner.Input
	decision *planner.Decision
	// told are the warnings that were given already.
	told []string
	// releaseCache lets other boxes of the project use the volume.
	releaseCache func()
}

func (p *planning) decide() (err error) {
	if p.decision, err = planner.Decide(p.input); err != nil {
		p.releaseCache()
		return err
	}
	p.own(p.decision.Plan)
	return nil
}

// announce says what is going to be done.
func (p *planning) announce() {
	made := p.decision.Plan
	p.record.receipt.Plan = made
	p.tell(p.facts, made)
	for _, w := range made.Warnings {
		if !slices.Contains(p.told, w) {
			p.say.warn(w)
		}
	}
	p.told = made.Warnings
}

// climb finds out what a rootless engine takes, if that is not known for this
// engine, its kernel and this image, and makes the plan again with it.
func (p *planning) climb(ctx context.Context) error {
	if !posture.NeedsLadder(p.options.Engine, p.engine.host()) {
		return nil
	}
	image := p.cageImage()
	socket := socketIdentity(p.client.Endpoint().SocketPath())
	pr := &prober{launcher: p.launcher, client: p.client, image: image}
	if p.ladder.Ladder != nil && p.ladder.Image == image {
		return p.loadProfile(ctx, pr, socket)
	}
	p.enter("probe")
	ladder, err := posture.Climb(ctx, pr, p.engine.host())
	if err != nil {
		return err
	}
	p.ladder = keptLadder{Image: image, Kernel: p.engine.Kernel, Ladder: ladder, Socket: socket}
	if ladder.Rung != plan.Unsupported {
		p.writeLadder(p.engine, p.ladder)
	}
	p.input.Engine.Ladder = ladder
	if err := p.decide(); err != nil {
		return err
	}
	p.announce()
	return nil
}

// loadProfile loads the AppArmor profile of a rung that is known to need it
// into a kernel that may have been booted since.
func (p *planning) loadProfile(ctx context.Context, pr *prober, socket string) error {
	if p.ladder.profiled(socket) {
		return nil
	}
	if err := pr.LoadProfile(ctx); err != nil {
		return exitstatus.Faultf(exitstatus.EngineStartFailed, "the AppArmor profile %s cannot be loaded: %w", posture.AppArmorProfile, err)
	}
	p.ladder.Socket = socket
	p.writeLadder(p.engine, p.ladder)
	return nil
}

// cageImage is the ID of the image that every box is built on.
func (p *planning) cageImage() string {
	for _, i := range p.record.receipt.Images {
		if i.Ref == images.Cage {
			return i.ID
		}
	}
	return images.Cage
}

// reserveCache chooses the volume of the engine in the box, and keeps other
// boxes from it.
func (p *planning) reserveCache() {
	p.releaseCache = func() {}
	if !p.options.EngineCache || p.options.Engine == plan.None || p.host == nil {
		return
	}
	name := p.cacheName()
	release, taken, err := p.lockCache(name)
	if err != nil {
		p.say.debug("engine cache: %v", err)
		return
	}
	p.input.Engine.Cache, p.input.Engine.CacheTaken, p.releaseCache = name, taken, release
	if p.options.Action == face.DryRun {
		release()
	}
}
