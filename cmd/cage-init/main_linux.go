// It is idle as long as the box lives, so no count of processors has to be
// found out at its start, or watched.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command cage-init is PID 1 of every box.
package main

import (
	"os"

	"github.com/agent-cage/agent-cage/libcage/boxinit"
)

func main() {
	os.Exit(boxinit.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
