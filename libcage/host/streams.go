package host

import (
	"os"

	"github.com/moby/term"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

// Terminal says how the caller's streams are to be connected. The box gets a
// terminal only if all three are one; its standard input is connected only if
// the caller's can deliver something: a terminal, a pipe, a file or a socket.
func Terminal(stdin, stdout, stderr *os.File) plan.Terminal {
	t := plan.Terminal{TTY: isTerminal(stdin) && isTerminal(stdout) && isTerminal(stderr)}
	t.Stdin = t.TTY || delivers(stdin)
	return t
}

func isTerminal(f *os.File) bool { return term.IsTerminal(f.Fd()) }

func delivers(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false // closed
	}
	mode := info.Mode()
	return mode.IsRegular() || mode&(os.ModeNamedPipe|os.ModeSocket) != 0 || isTerminal(f)
}
