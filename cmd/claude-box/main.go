// Command claude-box runs Claude Code in a container that holds one project.
package main

import (
	"os"

	"github.com/agent-cage/agent-cage/libcage/launch"
	"github.com/agent-cage/agent-cage/payloads/claude"
)

func main() {
	os.Exit(launch.Main(claude.Payload, launch.Process()))
}
