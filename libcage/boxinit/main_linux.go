package boxinit

import (
	"fmt"
	"io"
	"os"
	"time"
)

// The names that cage-init starts itself under. They are argument 0, where no
// argument of a container can end up.
const (
	stageName   = "cage-init: stage"
	holdName    = "cage-init: hold"
	enteredName = "cage-init: entered"
)

// Main is the program: argv is the whole command line. It returns the exit
// status.
func Main(argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	started := time.Now()
	switch {
	case len(argv) == 1 && argv[0] == stageName:
		return stageMain()
	case len(argv) == 1 && argv[0] == holdName:
		return hold()
	case len(argv) == 1 && argv[0] == enteredName:
		return enteredMain(stderr)
	case len(argv) > 2 && argv[1] == daemonCommand:
		return report(stderr, becomeDaemon(argv[2:]))
	case len(argv) > 3 && argv[1] == "exec":
		return execute(argv[3:], stderr)
	case len(argv) == 4 && argv[1] == "signal":
		return report(stderr, signalExecuted(argv[2], argv[3]))
	case len(argv) == 2 && argv[1] == "lifeline":
		return report(stderr, holdLifeline(lifelineSocket, stdin, stdout))
	case len(argv) == 1 && os.Getpid() == 1:
		return newSupervisor(started, os.Stdin, stdout).run()
	}
	fmt.Fprintln(stderr, "cage-init is the first process of a box, which a launcher starts; as a command it knows only: cage-init lifeline, cage-init exec MARK COMMAND, cage-init signal MARK SIGNAL")
	return 1
}

func report(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "cage-init: %v\n", err)
	return 1
}
