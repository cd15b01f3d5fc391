// Command codex-box runs the Codex CLI in a container that holds one project.
package main

import (
	"os"

	"github.com/agent-cage/agent-cage/libcage/launch"
	"github.com/agent-cage/agent-cage/payloads/codex"
)

func main() {
	os.Exit(launch.Main(codex.Payload, launch.Process()))
}
