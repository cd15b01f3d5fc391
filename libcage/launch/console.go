package launch

import (
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/agent-cage/agent-cage/libcage/handshake"
	"github.com/agent-cage/agent-cage/libcage/terminal"
)

// farewell is how long a terminal that takes no output may keep a launcher
// from its end.
const farewell = time.Second

// console is the caller's terminal for as long as a box has it, and is left as
// it was found. A nil console is that of a box without a terminal.
type console struct {
	terminal *terminal.Terminal
	// stderr is told what newlines have to be.
	stderr *lines
	// term is the caller's TERM, title what the terminal shows above it.
	term, title string

	signals chan os.Signal
	closed  chan struct{}
	closing sync.Once
	// changed is told that the terminal may have another size, and whether the
	// launcher was stopped in the meantime; nil tells nobody.
	changed atomic.Pointer[func(resumed bool)]
	// settled is closed when the launcher can be stopped: a box that is without
	// its lifeline for long ends. nil is a box that does not run.
	settled atomic.Pointer[<-chan struct{}]

	// mu keeps the harness's output away from a suspended terminal.
	mu     sync.Mutex
	modes  *terminal.Modes
	out    io.Writer
	titled bool
}

// openConsole takes the terminal over if the box gets one.
func (b *box) openConsole() (*console, error) {
	p := b.decision.Plan
	if !p.Terminal.TTY {
		return nil, nil
	}
	title := p.Label + ": " + filepath.Base(p.Project.Dir)
	c, err := newConsole(b.sys.Stdin, b.sys.Stdout, b.stderr, b.getenv("TERM"), title)
	if err != nil {
		return nil, err
	}
	return c, c.terminal.Hold()
}

func newConsole(in, out *os.File, stderr *lines, term, title string) (*console, error) {
	t, err := terminal.Open(in)
	if err != nil {
		return nil, err
	}
	c := &console{
		terminal: t, stderr: stderr, term: term, title: title,
		signals: make(chan os.Signal, 8),
		closed:  make(chan struct{}),
		modes:   terminal.NewModes(screen{outlet{out}}),
		out:     out,
	}
	signal.Notify(c.signals, append(fatal(), syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT)...)
	go c.guard(c.follow)
	return c, nil
}

// fatal are the signals of which the runtime ends a process at once, without
// a deferred function.
func fatal() []os.Signal {
	return []os.Signal{
		syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGSEGV, syscall.SIGSYS, syscall.SIGTRAP,
	}
}

// follow heeds the signals that concern the terminal.
func (c *console) follow() {
	for {
		select {
		case <-c.closed:
			return
		case sig := <-c.signals:
			c.heed(sig.(syscall.Signal))
		}
	}
}

func (c *console) heed(sig syscall.Signal) {
	switch sig {
	case syscall.SIGWINCH:
		c.change(false)
	case syscall.SIGTSTP:
		// What a terminal that is gone answers, is of no use to anybody.
		_ = c.suspend()
		c.change(true)
	case syscall.SIGCONT:
		_ = c.terminal.Retake()
		c.change(true)
	default:
		c.close()
		signal.Reset(sig)
		_ = syscall.Kill(syscall.Getpid(), sig)
	}
}

// change tells of a change. An engine that does not answer must not keep the
// next signal from being heard.
func (c *console) change(resumed bool) {
	if f := c.changed.Load(); f != nil {
		go c.guard(func() { (*f)(resumed) })
	}
}

// attend has f told of changes from now on. No suspension begins before settled
// is closed, if that is soon.
func (c *console) attend(f func(resumed bool), settled <-chan struct{}) {
	if c != nil {
		c.changed.Store(&f)
		c.settled.Store(&settled)
	}
}

// guard runs f as a goroutine. If it panics, which ends the process without
// any other goroutine's doing, the terminal is given back first.
func (c *console) guard(f func()) {
	over := false
	defer func() {
		if !over {
			c.close()
		}
	}()
	f()
	over = true
}

// Write passes the harness's output on.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.modes.Write(p)
}

// handOver gives the harness the terminal.
func (c *console) handOver() error {
	if c == nil {
		return nil
	}
	if err := c.terminal.Raw(); err != nil {
		return err
	}
	c.stderr.raw.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
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
// terminal as it was found, and takes it again when the process goes on.
func (c *console) suspend() error {
	if settled := c.settled.Load(); settled != nil {
		select {
		case <-*settled:
		case <-c.closed:
		case <-time.After(lifelineLatest):
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lend()
	if err := c.terminal.Suspend(terminal.Stop); err != nil {
		return err
	}
	if c.titled {
		if _, err := io.WriteString(c.out, terminal.SetTitle(c.term, c.title)); err != nil {
			return err
		}
	}
	return c.modes.On()
}

// lend takes back what the harness has made of the terminal. A terminal that is
// gone takes nothing back.
func (c *console) lend() {
	_ = c.modes.Off()
	if c.titled {
		_, _ = io.WriteString(c.out, terminal.RestoreTitle(c.term))
	}
}

// close gives the terminal back. More than one call is fine.
func (c *console) close() {
	if c == nil {
		return
	}
	c.closing.Do(func() {
		signal.Stop(c.signals)
		close(c.closed)
		lent := make(chan struct{})
		go func() {
			defer close(lent)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.lend()
		}()
		select {
		case <-lent:
		case <-time.After(farewell):
		}
		_ = c.terminal.Restore()
		c.stderr.raw.Store(false)
	})
}
