package launch

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/host"
	"github.com/agent-cage/agent-cage/libcage/state"
)

// TestKindOfError: a full disk is not the fault of who asks.
func TestKindOfError(t *testing.T) {
	full := &fs.PathError{Op: "mkdir", Path: "/x", Err: syscall.ENOSPC}
	for _, tt := range []struct {
		err  error
		want exitstatus.Kind
	}{
		{&host.RefusedError{What: "project directory"}, exitstatus.Usage},
		{&state.UnusableError{Path: "/x", Err: syscall.EACCES}, exitstatus.Usage},
		{&state.UnusableError{Path: "/x", Err: syscall.ENOSPC}, exitstatus.EngineStartFailed},
		{fmt.Errorf("state: %w", full), exitstatus.EngineStartFailed},
		{fmt.Errorf("state: %w", &fs.PathError{Op: "write", Path: "/x", Err: syscall.EDQUOT}), exitstatus.EngineStartFailed},
		{exitstatus.Faultf(exitstatus.Usage, "noted: %w", full), exitstatus.EngineStartFailed},
		{exitstatus.Faultf(exitstatus.ImageMissing, "lock: %w", full), exitstatus.ImageMissing},
		{fs.ErrClosed, exitstatus.EngineStartFailed},
	} {
		if got := asFault(tt.err); got.Kind != tt.want {
			t.Errorf("%v: got %s, want %s", tt.err, got.Kind, tt.want)
		}
	}
}
