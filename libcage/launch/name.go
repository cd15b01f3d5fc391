package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/lifecycle"
)

// publish writes the name file of a box that has started, and returns its
// removal: there is nothing to remove where it could not be written.
func (b *box) publish(startErr error) (withdraw func()) {
	p := b.decision.Plan
	if p.NameFile == "" || startErr != nil {
		return func() {}
	}
	file := lifecycle.NameFile{Path: p.NameFile, Box: p.Name}
	if err := file.Publish(); err != nil {
		b.say.warn("--name-file: " + err.Error())
		return func() {}
	}
	return func() {
		if err := file.Remove(); err != nil {
			b.say.warn("--name-file: " + err.Error())
		}
	}
}

// A removal that another has begun is waited for, for so long.
const (
	vacateTries = 50
	vacatePause = 100 * time.Millisecond
)

func nameTaken(err error) bool {
	var refused *engine.LaunchError
	return errors.As(err, &refused) && refused.Problem == engine.NameProblem
}

// vacate removes the box that has the name, if its launcher is dead.
func (b *box) vacate(ctx context.Context) bool {
	holder, ok := b.holder(ctx)
	if !ok || holder.Verdict != lifecycle.Dead {
		return false
	}
	if _, err := lifecycle.RemoveAll(ctx, b.engine, []lifecycle.Box{holder}); err != nil {
		return false
	}
	// Where a reaper was faster, its removal may still be under way.
	for range vacateTries {
		if _, ok := b.holder(ctx); !ok {
			return true
		}
		time.Sleep(vacatePause)
	}
	return false
}

// holder returns the caller's own box that has the name.
func (b *box) holder(ctx context.Context) (lifecycle.Box, bool) {
	if b.host == nil {
		return lifecycle.Box{}, false
	}
	boxes, err := lifecycle.Boxes(ctx, b.engine, b.host)
	if err != nil {
		return lifecycle.Box{}, false
	}
	for _, box := range boxes {
		if box.Name == b.decision.Plan.Name {
			return box, true
		}
	}
	return lifecycle.Box{}, false
}

// nameFault says by whom the name is in use.
func (b *box) nameFault(ctx context.Context, err error) error {
	name := b.decision.Plan.Name
	if holder, ok := b.holder(ctx); ok {
		return exitstatus.Faultf(exitstatus.Usage,
			"--name %s is in use by your %s in %s (launcher pid %d, %s): give another name, or cage stop %s",
			name, holder.Label, holder.Project, holder.Launcher.PID, holder.State, name)
	}
	state, inspectErr := b.engine.Inspect(ctx, name)
	if inspectErr != nil {
		return exitstatus.Faultf(exitstatus.Usage, "%w: give another --name", err)
	}
	whose := "a container that is no box"
	if launcher, ok := lifecycle.ParseLauncher(state.Labels); ok {
		whose = fmt.Sprintf("a box of user %d", launcher.UID)
	}
	return exitstatus.Faultf(exitstatus.Usage, "--name %s is in use by %s, %.12s of image %s, %s: give another name",
		name, whose, state.ID, state.Image, state.Status)
}
