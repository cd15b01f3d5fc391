package launch

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

// ending are the signals that ask a launcher to end.
func ending() []os.Signal {
	list := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT}
	// Who starts a program with hangups ignored, as nohup does, wants it to
	// outlive them. A shell ignores INT and QUIT for whatever it starts in the
	// background of a script: that says nothing.
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// signals are those that the launcher receives, from its first moment on.
// Until a box runs they cancel what is going on; then they are the harness's.
type signals struct{ c chan os.Signal }

// interrupted is the cause of a context that a signal cancelled.
type interrupted struct{ signal os.Signal }

func (e interrupted) Error() string {
	return "interrupted by signal " + e.signal.String() + " before the harness started"
}

func listen() *signals {
	s := &signals{c: make(chan os.Signal, 8)}
	signal.Notify(s.c, ending()...)
	// A reader that went away is an error of the write and not yet the end:
	// the box has to be removed first.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return s
}

func (s *signals) stop() { signal.Stop(s.c) }

// context returns one that the next signal cancels, until release is called:
// then signals are for others to receive.
func (s *signals) context(parent context.Context) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(parent)
	released, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		select {
		case sig := <-s.c:
			cancel(interrupted{sig})
		case <-released:
		}
	}()
	return ctx, sync.OnceFunc(func() {
		close(released)
		<-over
	})
}

// linger returns a context that is cancelled when the parent has been for
// that long.
func linger(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { time.AfterFunc(d, cancel) })
	return ctx, func() {
		stop()
		cancel()
	}
}

// await returns what f does, or the signal that came first. Then f goes on, for
// as long as the process does.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, explain(ctx, context.Cause(ctx))
	}
}

// explain turns the error of a call into the signal that cancelled it, if one
// did: what became of the call, each client words in its own way.
func explain(ctx context.Context, err error) error {
	var cause interrupted
	if errors.As(context.Cause(ctx), &cause) {
		return exitstatus.Faultf(exitstatus.AsFault(exitstatus.EngineStartFailed, err).Kind, "%w", cause)
	}
	return err
}
