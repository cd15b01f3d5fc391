// Package exitstatus is the contract between a launcher and the scripts that
// call it: which status a run ends with, and whether a fault line says why.
//
// A run ends either with the harness's own status and no fault line, or with
// a fault line and the status of that fault. Never both, never neither.
package exitstatus

import (
	"errors"
	"fmt"
	"strings"
)

// Kind names a fault. Its text is stable: scripts match on fault=KIND.
type Kind string

// The kinds of fault, and the status a launcher exits with for each.
const (
	OutOfMemory          Kind = "out-of-memory"          // 137
	Timeout              Kind = "timeout"                // 124
	ImageMissing         Kind = "image-missing"          // 125
	EngineStartFailed    Kind = "engine-start-failed"    // 126
	EngineLost           Kind = "engine-lost"            // 126
	HarnessNotExecutable Kind = "harness-not-executable" // 127
	Usage                Kind = "usage"                  // 1
)

// Status returns the exit status of a launcher that ends with this fault.
// A kind that is not one of the constants is a programming error and counts
// as EngineStartFailed, the broadest of them.
func (k Kind) Status() int {
	switch k {
	case OutOfMemory:
		return 137
	case Timeout:
		return 124
	case ImageMissing:
		return 125
	case HarnessNotExecutable:
		return 127
	case Usage:
		return 1
	default:
		return 126
	}
}

// Fault is the error of a run that did not end with the harness's own status.
type Fault struct {
	Kind Kind
	// Detail is one sentence for a person: the cause, then the next step.
	Detail string
	// Err is the error that led here, if there was one.
	Err error
}

// Error returns the detail, followed by the cause when the detail does not
// already contain it.
func (f *Fault) Error() string {
	if f.Err == nil || strings.Contains(f.Detail, f.Err.Error()) {
		return f.Detail
	}
	if f.Detail == "" {
		return f.Err.Error()
	}
	return f.Detail + ": " + f.Err.Error()
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Line returns the fault line of the launcher called label, without a newline:
//
//	LABEL: fault=KIND detail="…"
//
// The detail is quoted as Go quotes a string, so the line is always one line.
func (f *Fault) Line(label string) string {
	return fmt.Sprintf("%s: fault=%s detail=%q", label, f.Kind, f.Error())
}

// Faultf returns a Fault of the kind whose detail is formatted as by
// fmt.Errorf: %w keeps the cause.
func Faultf(kind Kind, format string, args ...any) *Fault {
	err := fmt.Errorf(format, args...)
	return &Fault{Kind: kind, Detail: err.Error(), Err: errors.Unwrap(err)}
}

// AsFault returns err as a Fault: the one it wraps, else a new one of the
// given kind.
func AsFault(kind Kind, err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return &Fault{Kind: kind, Err: err}
}
