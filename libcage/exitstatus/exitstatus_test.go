package exitstatus

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestDecide(t *testing.T) {
	gone := errors.New("connection refused")
	said := Faultf(HarnessNotExecutable, "claude: not found")
	tests := []struct {
		name   string
		end    End
		status int
		kind   Kind
	}{
		{"own 0", End{Started: true, Exited: true}, 0, ""},
		{"own 1", End{Started: true, Exited: true, Status: 1}, 1, ""},
		{"own 124", End{Started: true, Exited: true, Status: 124}, 124, ""},
		{"own 125", End{Started: true, Exited: true, Status: 125}, 125, ""},
		{"own 126", End{Started: true, Exited: true, Status: 126}, 126, ""},
		{"own 127", End{Started: true, Exited: true, Status: 127}, 127, ""},
		{"own 255", End{Started: true, Exited: true, Status: 255}, 255, ""},
		{"killed", End{Started: true, Exited: true, Status: 137}, 137, ""},
		{"out of memory", End{Started: true, Exited: true, Status: 137, OOMKilled: true}, 137, OutOfMemory},
		{"only a child was out of memory", End{Started: true, Exited: true, Status: 3, OOMKilled: true}, 3, ""},
		{"stopped by us, a child had been out of memory", End{Started: true, Exited: true, Status: 137, OOMKilled: true, Stopped: true}, 137, ""},
		{"stopped by us", End{Started: true, Exited: true, Status: 143, Stopped: true}, 143, ""},
		{"ended itself for want of a lifeline", End{Started: true, Exited: true, Status: 137, Unwatched: gone}, 126, EngineLost},
		{"own end without a lifeline", End{Started: true, Exited: true, Status: 3, Unwatched: gone}, 3, ""},
		{"stopped by us without a lifeline", End{Started: true, Exited: true, Status: 137, Unwatched: gone, Stopped: true}, 137, ""},
		{"time limit", End{Started: true, Exited: true, Status: 137, Stopped: true, TimedOut: true}, 124, Timeout},
		{"cage-init said why", End{Exited: true, Status: 126, Said: Faultf(EngineStartFailed, "x")}, 126, EngineStartFailed},
		{"cage-init said why, then the engine was lost", End{Said: said, Lost: gone}, 127, HarnessNotExecutable},
		{"execve failed", End{Started: true, Exited: true, Status: 127, Said: said}, 127, HarnessNotExecutable},
		{"entry point ended early", End{Exited: true, Status: 0}, 126, EngineStartFailed},
		{"entry point ended early with 127", End{Exited: true, Status: 127}, 126, EngineStartFailed},
		{"output given up after the end", End{Started: true, Exited: true, Status: 3, Unread: errors.New("nobody reads")}, 126, EngineLost},
		{"output given up after the time limit", End{Started: true, Exited: true, Status: 143, TimedOut: true, Stopped: true}, 124, Timeout},
		{"ended itself without a lifeline", End{Started: true, Exited: true, Status: 137, Unwatched: errors.New("stopped")}, 126, EngineLost},
		{"killed by us without a lifeline", End{Started: true, Exited: true, Status: 137, Unwatched: errors.New("stopped"), Stopped: true}, 137, ""},
		{"out of memory before the harness", End{Exited: true, Status: 137, OOMKilled: true}, 126, EngineStartFailed},
		{"interrupted before the harness", End{Exited: true, Status: 137, Stopped: true, Interrupted: gone}, 126, EngineStartFailed},
		{"interrupted as the harness started", End{Started: true, Exited: true, Status: 137, Stopped: true, Interrupted: gone}, 137, ""},
		{"output lost", End{Started: true, Exited: true, Status: 137, Stopped: true, Output: gone}, 126, EngineLost},
		{"output lost as the harness ended", End{Started: true, Exited: true, Output: gone}, 126, EngineLost},
		{"handshake broken off", End{Exited: true, Status: 137, Stopped: true, Interrupted: gone, Output: gone}, 126, EngineStartFailed},
		{"engine lost at start", End{Lost: gone}, 126, EngineStartFailed},
		{"engine lost while running", End{Started: true, Lost: gone}, 126, EngineLost},
	}
	for _, tt := range tests {
		status, fault := Decide(tt.end)
		var kind Kind
		if fault != nil {
			kind = fault.Kind
		}
		if status != tt.status || kind != tt.kind {
			t.Errorf("%s: got %d %q, want %d %q", tt.name, status, kind, tt.status, tt.kind)
		}
	}
}

func TestKindStatus(t *testing.T) {
	for kind, want := range map[Kind]int{
		OutOfMemory: 137, Timeout: 124, ImageMissing: 125, EngineStartFailed: 126,
		EngineLost: 126, HarnessNotExecutable: 127, Usage: 1,
	} {
		if got := kind.Status(); got != want {
			t.Errorf("%s: got %d, want %d", kind, got, want)
		}
	}
}

func TestFaultLine(t *testing.T) {
	cause := errors.New("no such\nimage \"x\"")
	f := Faultf(ImageMissing, "build: %w", cause)
	want := `claude-box: fault=image-missing detail="build: no such\nimage \"x\""`
	if got := f.Line("claude-box"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !errors.Is(f, cause) {
		t.Error("the cause is lost")
	}
	if wrapped := fmt.Errorf("outer: %w", f); AsFault(Usage, wrapped) != f {
		t.Error("a wrapped fault is not found")
	}
	if f := AsFault(Usage, cause); f.Kind != Usage || !strings.Contains(f.Error(), "no such") {
		t.Errorf("got %v, want a usage fault with the cause", f)
	}
	if got := lost(EngineLost, "lost", cause).Error(); got != "lost: "+cause.Error() {
		t.Errorf("got %q", got)
	}
}
