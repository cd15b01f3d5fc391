package launch

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

// sameSignal is how soon after a signal another of the same kind is the same
// one: timeout(1) sends its own twice, to the program and to its group.
const sameSignal = 200 * time.Millisecond

// lifelineSlack is how much longer than this process knows a box may have run.
const lifelineSlack = time.Second

// errUnread is the fault of output that was dropped.
var errUnread = errors.New("a signal came while nobody read what the harness had written")

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
	// last is the signal that was passed on last, at a time.
	last   syscall.Signal
	lastAt time.Time
	// asked says that the harness was asked to end, or would have been if it
	// had not ended before.
	asked bool
	// watched says that the box has had a lifeline.
	watched bool
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
	begun := time.Now()
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
			// A harness that has ended in time may still have a slow reader.
			if !k.end.Exited {
				k.end.TimedOut = true
				k.stop(syscall.SIGTERM)
			}
		case <-k.deadline:
			k.kill()
		case <-k.overdue:
			// Whoever reads the output does not; the engine waits for it, too.
			k.drop()
			k.overdue, copied = nil, nil
			k.hopeless = time.After(removal)
		case <-k.hopeless:
			k.hopeless, ended = nil, nil
			k.end.Lost = errors.New("it does not end the box")
		}
	}
	lifeline()
	k.notice(time.Since(begun))
}

// notice says why a box has ended itself that never had a lifeline: this
// process did not run, or the engine did not answer, for longer than a box
// lives without one.
func (k *keeper) notice(lived time.Duration) {
	if !k.watched && k.end.Unwatched == nil && lived >= needs.LifelineWithin-lifelineSlack {
		k.end.Unwatched = errors.New("this launcher was stopped, or the engine did not answer")
	}
}

// drop gives up output that nobody reads. Where the harness did not end by the
// signal that asked for it, that is a fault: its status promises all of it.
func (k *keeper) drop() {
	k.streams.Close()
	if k.end.Exited && !k.end.Stopped && k.end.Status != 128+int(k.last) {
		k.end.Unread = errUnread
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
	number := sig.(syscall.Signal)
	if number == k.last && time.Since(k.lastAt) < sameSignal {
		return
	}
	k.last, k.lastAt = number, time.Now()
	k.record.signalled(sig)
	select {
	case <-k.started:
		k.stop(number)
	default:
		k.end.Interrupted = interrupted{sig}
		k.kill()
	}
}

// stop sends the harness a signal and gives it some time to end. The second
// time it ends the box. One that has ended has the same time for its output to
// be read.
func (k *keeper) stop(sig syscall.Signal) {
	if k.asked {
		k.kill()
		return
	}
	k.asked = true
	if k.end.Exited {
		return
	}
	k.deadline = time.After(grace)
	k.tell(unix.SignalName(sig))
}

// kill ends the box at once. Of one that has ended it ends the wait for its
// output.
func (k *keeper) kill() {
	k.deadline = nil
	if k.end.Exited {
		k.overdue = time.After(0)
		return
	}
	if !k.end.Stopped {
		k.overdue = time.After(patience)
	}
	k.end.Stopped = true
	k.tell("SIGKILL")
}

// tell sends the box a signal. Its effect is seen in the box's end; an engine
// that does not answer must not keep the next signal from being heard.
func (k *keeper) tell(name string) { go k.console.guard(func() { k.signal(name) }) }
