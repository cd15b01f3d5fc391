// Command cage looks after the boxes that coding agents run in.
package main

import (
	"fmt"
	"os"

	"github.com/agent-cage/agent-cage/libcage/admin"
)

func main() {
	known, err := harnesses()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cage:", err)
		os.Exit(1)
	}
	os.Exit(admin.Main(admin.Process(known)))
}
