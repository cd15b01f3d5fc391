package launch

import (
	"context"
	"errors"
	"time"

	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/handshake"
	"github.com/agent-cage/agent-cage/libcage/planner"
)

// removal bounds the calls that take a box away.
const removal = 30 * time.Second

// patience is how long a call that must not be broken off goes on after a
// signal.
const patience = 5 * time.Second

// box is one container, from create to remove.
type box struct {
	*launcher
	engine   *engine.Client
	decision *planner.Decision
	facts    *facts
	signals  *signals

	id      string
	console *console
}

// live creates the box, lets the harness run in it and removes it. Signals are
// the harness's from the start on.
func (b *box) live(ctx context.Context, releaseSignals func()) (status int, err error) {
	b.console, err = b.openConsole()
	defer b.console.close()
	if err != nil {
		return 0, err
	}
	defer b.reap(ctx)()
	b.enter("create")
	if err := b.create(ctx); err != nil {
		return 0, err
	}
	defer b.removed()
	b.enter("start")
	s, err := b.start(ctx)
	defer b.publish(err)()
	releaseSignals()
	if err == nil {
		// A signal that came while the start was on its way.
		err = context.Cause(ctx)
	}
	if err != nil {
		return 0, err
	}
	defer s.streams.Close()
	b.enter("handshake")
	end, outputErr := s.run()
	b.enter("remove")
	b.record.receipt.Exit.OOMKilled = end.OOMKilled
	if readerGone(outputErr) != nil {
		return 0, outputErr
	}
	status, fault := exitstatus.Decide(end)
	if fault != nil {
		return 0, fault
	}
	return status, nil
}

// create makes the container. A signal does not break the call off at once:
// the engine would go on with it, and the box would come to be after its
// removal.
func (b *box) create(ctx context.Context) error {
	lingering, cancel := linger(ctx, patience)
	defer cancel()
	id, warnings, err := b.engine.Create(lingering, b.decision.Plan)
	if nameTaken(err) && b.vacate(lingering) {
		id, warnings, err = b.engine.Create(lingering, b.decision.Plan)
	}
	b.id = id
	if ctx.Err() != nil {
		// Only a name that nobody else can have stands for the id.
		if err != nil && b.options.Name == "" {
			b.id = b.decision.Plan.Name
		}
		if b.id != "" {
			b.removed()
		}
		return explain(ctx, context.Canceled)
	}
	if nameTaken(err) {
		return b.nameFault(lingering, err)
	}
	if err != nil {
		return b.launchFault(err)
	}
	for _, w := range warnings {
		b.say.warn(w)
	}
	return nil
}

// start attaches to the box and starts it.
func (b *box) start(ctx context.Context) (*session, error) {
	attachment, err := b.engine.Attach(ctx, b.id, b.decision.Plan.Terminal.TTY)
	if err != nil {
		return nil, explain(ctx, err)
	}
	s := &session{box: b, streams: attachment, nonce: handshake.NewNonce()}
	// The wait outlives the context, which ends with the first signal.
	s.ended, err = b.engine.Wait(context.WithoutCancel(ctx), b.id)
	if err == nil {
		err = b.launchFault(b.engine.Start(ctx, b.id, b.decision.Plan))
	}
	if err != nil {
		attachment.Close()
		return nil, explain(ctx, err)
	}
	return s, nil
}

// launchFault gives the engine's refusal of a box its kind and next step.
func (b *box) launchFault(err error) error {
	var refused *engine.LaunchError
	if !errors.As(err, &refused) {
		return err
	}
	kind, next := exitstatus.EngineStartFailed, "see the engine's log"
	switch refused.Problem {
	case engine.ImageProblem:
		kind, next = exitstatus.ImageMissing, "start again to build it"
	case engine.PathProblem:
		kind, next = exitstatus.Usage, "move the project to a shorter path: the engine puts its own in front of it"
	case engine.MountProblem:
		next = "the engine must see the same files: share the directory with it"
	case engine.NetworkProblem:
		next = "see docker network ls"
	case engine.DeviceProblem:
		next = "the engine's machine needs the device, and its driver for containers: see cage doctor, or leave --gpus and --kvm out"
	case engine.SpaceProblem:
		next = "free space on the engine's disk: docker system df"
	case engine.EntrypointProblem:
		next = "rebuild the image: docker image rm " + b.decision.Plan.Image.Ref
		if b.facts.dockerfile != nil {
			next = "begin " + b.facts.dockerfile.Path + " with FROM " + b.payload.Image.Name
		}
	case engine.NameProblem, engine.RuntimeProblem, engine.OtherProblem:
	}
	return exitstatus.Faultf(kind, "%w: %s", err, next)
}

// removed removes the box, or says that it is still there.
func (b *box) removed() {
	if err := b.remove(); err != nil {
		b.say.warn("the box " + b.decision.Plan.Name + " could not be removed: " + err.Error())
	}
}

// remove takes the box away, also after the context has ended.
func (b *box) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), removal)
	defer cancel()
	return b.engine.Remove(ctx, b.id, true)
}
