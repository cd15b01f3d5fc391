// Command cage-init is PID 1 of every box.
package main

import (
	"os"

	"github.com/agent-cage/agent-cage/libcage/boxinit"
)

func main() {
	os.Exit(boxinit.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
