package launch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/engine"
)

const (
	// lifelineDelay is how long after the harness the lifeline starts. At
	// once, it would compete with the harness's own start.
	lifelineDelay = 300 * time.Millisecond
	// lifelineLatest is how long after the box the lifeline starts at the
	// latest. A box without one ends by itself soon afterwards.
	lifelineLatest = 2 * time.Second
	// lifelineTries is how often it is tried, a lifelineDelay apart.
	lifelineTries = 5
)

// watch is the lifeline of a box before the harness starts.
type watch struct {
	// wanted is closed when the box is ready for a lifeline, over when it has
	// one or will get none.
	wanted, over chan struct{}
}

func newWatch() watch { return watch{wanted: make(chan struct{}), over: make(chan struct{})} }

// watchFirst waits for the lifeline of a box that says ready, if it could not
// be started any more beside a harness that has taken all processes there are.
func (s *session) watchFirst() {
	if s.decision.Plan.Limits.PidsLimit > 0 {
		close(s.watch.wanted)
		<-s.watch.over
	}
}

// holdLifeline runs the lifeline beside the harness until the returned
// function is called. The box ends if it does.
func (k *keeper) holdLifeline(ctx context.Context) (release func()) {
	ctx, cancel := context.WithCancel(ctx)
	var line *engine.Exec
	done := make(chan struct{})
	go k.console.guard(func() {
		defer close(done)
		defer close(k.watch.over)
		var err error
		line, err = k.startLifeline(ctx)
		if err != nil && ctx.Err() == nil {
			k.end.Unwatched = err
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		<-done
		if line != nil {
			k.watched = true
			line.Close()
		}
	})
}

func (k *keeper) startLifeline(ctx context.Context) (line *engine.Exec, err error) {
	pause := lifelineDelay
	select {
	case <-k.watch.wanted:
		pause = 0
	case <-k.started:
	case <-time.After(lifelineLatest):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for range lifelineTries {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if line, err = k.tryLifeline(ctx); err == nil {
			return line, nil
		}
		k.say.debug("lifeline: %v", err)
		pause = lifelineDelay
	}
	return nil, err
}

// tryLifeline returns when the box hangs on the lifeline, which it says.
func (k *keeper) tryLifeline(ctx context.Context) (*engine.Exec, error) {
	line, err := k.engine.Exec(ctx, k.id, engine.ExecSpec{Argv: needs.Lifeline(), User: needs.Bystander(), Stdin: true})
	if err != nil {
		return nil, err
	}
	giveUp := context.AfterFunc(ctx, func() { line.Close() })
	said := &untilHeld{}
	err = line.Copy(said, said)
	if stopped := giveUp(); stopped && errors.Is(err, errHeld) {
		return line, nil
	}
	line.Close()
	return nil, errors.Join(fmt.Errorf("the lifeline has ended: %s", strings.TrimSpace(said.text)), err)
}

// errHeld ends the wait for a lifeline well.
var errHeld = errors.New("the box hangs on the lifeline")

// untilHeld is the output of a lifeline, or the engine's words why there is
// none.
type untilHeld struct{ text string }

func (u *untilHeld) Write(p []byte) (int, error) {
	if u.text += string(p); u.text == needs.LifelineHeld {
		return 0, errHeld
	}
	return len(p), nil
}
