//go:build linux

package sandbox

import "fmt"

// The exit statuses that are sbox's own.
const (
	// StatusUsage is for a command line that cannot be understood.
	StatusUsage = 2
	// StatusRefused is for a cage that was refused or could not be built, and
	// for a command that was found and cannot be executed.
	StatusRefused = 126
	// StatusNotFound is for a command that is not there.
	StatusNotFound = 127
)

// UsageError is a command line that cannot be understood.
type UsageError struct{ Reason string }

// Error returns the reason.
func (e *UsageError) Error() string { return e.Reason }

// RefusedError is a cage that is not built: the command has not run.
type RefusedError struct {
	Cause string
	// Fix is what a person can do about it; empty where the cause says it.
	Fix string
	Err error
}

// Error returns cause and fix, one line.
func (e *RefusedError) Error() string {
	s := e.Cause
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Fix != "" {
		s += "; " + e.Fix
	}
	return s
}

// Unwrap returns the error that led here, if there was one.
func (e *RefusedError) Unwrap() error { return e.Err }

func refusedf(fix, format string, args ...any) *RefusedError {
	return &RefusedError{Cause: fmt.Sprintf(format, args...), Fix: fix}
}
