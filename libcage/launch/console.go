package launch

import (
	"io"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/agent-cage/agent-cage/libcage/handshake"
	"github.com/agent-cage/agent-cage/libcage/terminal"
)

// console is the caller's terminal for as long as a box has it, and is left as
// it was found. A nil console is that of a box without a terminal.
type console struct {
	terminal *terminal.Terminal
	modes    *terminal.Modes
	out      io.Writer
	// term is the caller's TERM, title what the terminal shows above it.
	term, title string
	titled      bool
	closing     sync.Once
}

// openConsole takes the terminal over if the box gets one.
func (b *box) openConsole() (*console, error) {
	p := b.decision.Plan
	if !p.Terminal.TTY {
		return nil, nil
	}
	t, err := terminal.Open(b.sys.Stdin)
	if err != nil {
		return nil, err
	}
	c := &console{
		terminal: t,
		modes:    terminal.NewModes(screen{outlet{b.sys.Stdout}}),
		out:      b.sys.Stdout,
		term:     b.getenv("TERM"),
		title:    p.Label + ": " + filepath.Base(p.Project.Dir),
	}
	return c, t.Hold()
}

// handOver gives the harness the terminal.
func (c *console) handOver() error {
	if c == nil {
		return nil
	}
	if err := c.terminal.Raw(); err != nil {
		return err
	}
	c.titled = true
	_, err := io.WriteString(c.out, terminal.SetTitle(c.term, c.title))
	return err
}

// size returns the terminal's size; nil if there is none to tell.
func (c *console) size() *handshake.Size {
	if c == nil {
		return nil
	}
	rows, cols, err := c.terminal.Size()
	if err != nil {
		return nil
	}
	return &handshake.Size{Rows: rows, Cols: cols}
}

// suspend stops this process as the shell expects of SIGTSTP, with the
// terminal as it was found, and returns when it goes on.
func (c *console) suspend() error {
	return c.terminal.Suspend(func() error { return syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) })
}

// close gives the terminal back. More than one call is fine.
func (c *console) close() {
	if c == nil {
		return
	}
	c.closing.Do(func() {
		// A terminal that is gone takes nothing back.
		_ = c.modes.Reset()
		if c.titled {
			_, _ = io.WriteString(c.out, terminal.RestoreTitle(c.term))
		}
		_ = c.terminal.Restore()
	})
}
