// Command cage-gate decides what a coding agent may do without asking.
package main

import (
	"os"

	"github.com/agent-cage/agent-cage/gate"
)

func main() { os.Exit(gate.Main(gate.Process())) }
