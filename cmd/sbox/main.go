//go:build linux

// Command sbox runs one command in a cage: everything read-only but the green
// zone, no network, secrets hidden.
package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/agent-cage/agent-cage/sandbox"
)

func main() {
	// Signals, the terminal and bubblewrap's life hang on this thread.
	runtime.LockOSThread()
	// A run allocates little and is short.
	debug.SetGCPercent(-1)
	switch {
	case sandbox.IsStart(os.Args):
		os.Exit(sandbox.Start(os.Args))
	case sandbox.IsStage(os.Args):
		os.Exit(sandbox.Stage(os.Args))
	}
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
