// Command cage looks after the boxes that coding agents run in.
package main

import (
	"os"

	"github.com/agent-cage/agent-cage/libcage/admin"
)

func main() {
	os.Exit(admin.Main(admin.Process(harnesses())))
}
