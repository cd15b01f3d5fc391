// Command claude-box runs Claude Code in a container that holds one project.
package main

import (
	"fmt"
	"os"

	"github.com/agent-cage/agent-cage/libcage/launch"
	"github.com/agent-cage/agent-cage/payloads/claude"
)

func main() {
	payload, err := claude.Payload()
	if err != nil {
		fmt.Fprintln(os.Stderr, "claude-box:", err)
		os.Exit(1)
	}
	os.Exit(launch.Main(payload, launch.Process()))
}
