// Command generate writes profile.json.
package main

import (
	"fmt"
	"os"

	"github.com/agent-cage/agent-cage/libcage/posture/seccomp/internal/tight"
)

func main() {
	data, err := tight.JSON()
	if err == nil {
		err = os.WriteFile("profile.json", data, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}
