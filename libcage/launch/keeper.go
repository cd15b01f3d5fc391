package launch

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

// grace is how long the harness has to end after a signal, as docker stop
// gives.
const grace = 10 * time.Second

// keeper watches over a running box: its end, the caller's signals, the
// lifeline.
type keeper struct {
	*session
	copied <-chan error
	end    exitstatus.End
	// outputErr is why the box's output could not be passed on.
	outputErr error
	// deadline fires when the grace after a signal is over, overdue when the
	// box's output should have ended after its kill, and hopeless when the box
	// itself should have.
	deadline, overdue, hopeless <-chan time.Time
}

// keep returns when the box has ended and its output is through.
func (k *keeper) keep() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lifeline := k.holdLifeline(ctx)
	defer lifeline()
	go k.console.guard(func() { k.lookForNews(ctx) })
	go k.console.guard(func() { k.countTraffic(ctx) })
	var timeout <-chan time.Time
	if limit := k.decision.Plan.Limits.Timeout; limit > 0 {
		timeout = time.After(limit)
	}
	ended, copied := k.ended, k.copied
	for ended != nil || copied != nil {
		select {
		case exit := <-ended:
			ended = nil
			k.exited(exit)
		case err := <-copied:
			copied = nil
			k.outputOver(err)
		case sig := <-k.signals.c:
			k.signalled(sig)
		case <-timeout:
			k.end.TimedOut = ended != nil
			k.stop(syscall.SIGTERM)
		case <-k.deadline:
			k.kill()
		case <-k.overdue:
			// Whoever reads the output does not; the engine waits for it, too.
			k.streams.Close()
			k.overdue, copied = nil, nil
			k.hopeless = time.After(removal)
		case <-k.hopeless:
			k.hopeless, ended = nil, nil
			k.end.Lost = errors.New("it does not end the box")
		}
	}
}

// exited notes the box's end. If the engine is lost, so are the streams.
func (k *keeper) exited(exit engine.Exit) {
	if exit.Err != nil {
		k.end.Lost = exit.Err
		k.streams.Close()
		return
	}
	k.end.Exited, k.end.Status = true, exit.Status
}

// outputOver notes the end of the output. If it is not the box's own doing,
// the box is of no use any more; its streams are closed, since the engine
// would wait for them to be read before it tells of the end.
func (k *keeper) outputOver(err error) {
	if err == nil {
		return
	}
	k.streams.Close()
	k.outputErr = err
	if k.end.Interrupted == nil && !isConnectionError(err) {
		k.end.Interrupted = err
	}
	if !k.end.Exited {
		k.kill()
	}
}

// signalled passes a signal on to the harness. Before the harness runs there
// is nobody to tell.
func (k *keeper) signalled(sig os.Signal) {
	k.record.signalled(sig)
	select {
	case <-k.started:
		k.stop(sig.(syscall.Signal))
	default:
		k.end.Interrupted = interrupted{sig}
		k.kill()
	}
}

// stop sends the harness a signal and gives it some time to end. The second
// time it ends the box.
func (k *keeper) stop(sig syscall.Signal) {
	if k.deadline != nil || k.end.Stopped {
		k.kill()
		return
	}
	k.deadline = time.After(grace)
	k.tell(unix.SignalName(sig))
}

// kill ends the box at once.
func (k *keeper) kill() {
	if !k.end.Stopped {
		k.overdue = time.After(patience)
	}
	k.end.Stopped = true
	k.deadline = nil
	k.tell("SIGKILL")
}

// tell sends the box a signal. Its effect is seen in the box's end; an engine
// that does not answer must not keep the next signal from being heard.
func (k *keeper) tell(name string) { go k.console.guard(func() { k.signal(name) }) }
