// Command gh-issue does for a coding agent what it may do on GitHub unasked.
package main

import (
	"os"

	"github.com/agent-cage/agent-cage/gate/ghissue"
)

func main() { os.Exit(ghissue.Main(ghissue.Process())) }
