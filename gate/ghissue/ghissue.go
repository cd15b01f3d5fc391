// Package ghissue is a GitHub client that a coding agent may use without
// asking: issues and pull requests of the repositories that the gate's
// settings name, and nothing that merges or deletes. Whoever calls it chooses
// the arguments, so these name no file outside the zone, no other repository
// and no other host; the token comes from a file and goes to one host.
package ghissue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/moby/term"

	"github.com/agent-cage/agent-cage/gate"
)

// Statuses of the program.
const (
	StatusOK     = 0
	StatusFailed = 1 // refused, here or by the server, or not reached
	StatusUsage  = 2 // the command line is wrong; nothing was done
)

// Env is what the program takes from its process.
type Env struct {
	Args     []string // without the program's name
	Stdout   io.Writer
	Stderr   io.Writer
	Terminal bool // stdout is one
	Environ  []string
	Dir      string // the current directory; absolute
	UID      int    // the effective user
	System   string // the directory of root's settings
	Now      func() time.Time
	// Sleep waits between two tries, until the context ends.
	Sleep   func(context.Context, time.Duration) error
	Answer  time.Duration // for the head of one answer
	Overall time.Duration // for the whole command

	last *lastRequest
}

// lastRequest is what is known of it when something failed.
type lastRequest struct{ changes bool }

// Process returns the environment of the running process.
func Process() Env {
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	return Env{
		Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr, Terminal: term.IsTerminal(os.Stdout.Fd()),
		Environ: os.Environ(), Dir: dir, UID: os.Geteuid(), System: gate.SystemDir,
		Now: time.Now, Sleep: sleep, Answer: 20 * time.Second, Overall: 2 * time.Minute,
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// getenv returns a variable, "" if it is not set. Of two it returns the last.
func (e Env) getenv(name string) string {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(e.Environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// homeDir returns $HOME, below which settings and token lie.
func (e Env) homeDir() (string, error) {
	home := e.getenv("HOME")
	if !path.IsAbs(home) || path.Clean(home) != home || home == "/" {
		return "", fmt.Errorf("HOME is %q, not an absolute, clean path", home)
	}
	return home, nil
}

// usageError is a command line that cannot be carried out.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Main runs the program and returns its exit status.
func Main(e Env) int {
	ctx, cancel := context.WithTimeout(context.Background(), e.Overall)
	defer cancel()
	e.last = &lastRequest{}
	root := commands(e)
	root.SetArgs(e.Args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return StatusOK
	}
	fmt.Fprintf(e.Stderr, "gh-issue: %s\n", oneLine(e.explain(err)))
	var usage usageError
	if errors.As(err, &usage) {
		return StatusUsage
	}
	return StatusFailed
}
