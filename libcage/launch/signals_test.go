package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

func TestSignalCancelsUntilReleased(t *testing.T) {
	s := listen()
	defer s.stop()
	ctx, release := s.context(context.Background())
	s.c <- syscall.SIGTERM
	<-ctx.Done()
	err := explain(ctx, fmt.Errorf("build: %w", context.Canceled))
	var fault *exitstatus.Fault
	if !errors.As(err, &fault) || fault.Kind != exitstatus.EngineStartFailed || fault.Error() != "interrupted by signal terminated before the harness started" {
		t.Errorf("got %v", err)
	}
	release()
	release()
}

func TestLinger(t *testing.T) {
	parent, cancelParent := context.WithCancel(context.Background())
	ctx, cancel := linger(parent, 50*time.Millisecond)
	defer cancel()
	cancelParent()
	if ctx.Err() != nil {
		t.Error("it ended with its parent")
	}
	select {
	case <-ctx.Done():
	case <-time.After(5 * time.Second):
		t.Error("it outlives its parent for ever")
	}
}

func TestReleasedSignalsAreLeftAlone(t *testing.T) {
	s := listen()
	defer s.stop()
	ctx, release := s.context(context.Background())
	release()
	s.c <- syscall.SIGINT
	select {
	case sig := <-s.c:
		if sig != syscall.SIGINT {
			t.Errorf("got %v", sig)
		}
	case <-time.After(time.Second):
		t.Fatal("the signal was taken")
	}
	if ctx.Err() != nil {
		t.Error("the context ended")
	}
	if err := explain(ctx, context.DeadlineExceeded); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the error as it was", err)
	}
}

// A file system that does not answer keeps nobody from ending the launcher.
func TestAwait(t *testing.T) {
	if got, err := await(t.Context(), func() (int, error) { return 7, io.EOF }); got != 7 || !errors.Is(err, io.EOF) {
		t.Errorf("got %d, %v", got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted{syscall.SIGTERM})
	_, err := await(ctx, func() (int, error) { select {} })
	fault := exitstatus.AsFault(exitstatus.Usage, err)
	if fault.Kind != exitstatus.EngineStartFailed || !strings.Contains(err.Error(), "interrupted by signal terminated") {
		t.Errorf("got %v", err)
	}
}
