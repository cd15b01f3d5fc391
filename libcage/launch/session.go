package launch

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"

	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/handshake"
	"github.com/agent-cage/agent-cage/libcage/terminal"
)

// session is the time in which a box runs: its streams, and the handshake at
// their beginning.
type session struct {
	*box
	streams *engine.Attachment
	ended   <-chan engine.Exit
	nonce   string
	// terminal is nil if the box gets none.
	terminal *terminal.Terminal
	// started is closed when the harness has the streams.
	started chan struct{}
	closing sync.Once
}

// run carries the streams until the box has ended, and returns how. The error
// is an io error of the launcher's own output.
func (s *session) run() (exitstatus.End, error) {
	s.started = make(chan struct{})
	if err := s.holdTerminal(); err != nil {
		s.say.warn("the terminal keeps its modes: " + err.Error())
	}
	dialogue := handshake.NewDialogue(s.nonce, s.sys.Stdout, handshake.Events{
		Ready:    s.sendRun,
		Progress: func(line string) { s.say.debug("cage-init: %s", line) },
		Go:       s.harnessStarts,
	})
	copied := make(chan error, 1)
	go func() {
		err := s.streams.Copy(dialogue, s.sys.Stderr)
		copied <- errors.Join(err, dialogue.Close())
	}()
	k := keeper{session: s, copied: copied}
	k.keep()
	s.close()
	outcome := dialogue.Outcome()
	k.end.Started = outcome.Reached >= handshake.Started
	k.end.Said = outcome.Fault
	if k.end.Exited && k.end.Status == exitstatus.OutOfMemory.Status() {
		k.end.OOMKilled = s.outOfMemory()
	}
	return k.end, k.outputErr
}

// close gives the terminal back and drops the streams. More than one call is
// fine.
func (s *session) close() {
	s.closing.Do(func() {
		if s.terminal != nil {
			s.terminal.Restore() // nothing is left to be done about an error
		}
		s.streams.Close()
	})
}

// sendRun answers cage-init's ready.
func (s *session) sendRun() error {
	p := s.decision.Plan
	run := &handshake.Run{
		Nonce:    s.nonce,
		Plan:     *p,
		Argv:     p.Command.Argv,
		Env:      s.decision.Env,
		Dir:      p.Project.WorkDir,
		CABundle: string(s.ca),
		Trace:    s.say.debugging,
	}
	if s.terminal != nil {
		if rows, cols, err := s.terminal.Size(); err == nil {
			run.Size = &handshake.Size{Rows: rows, Cols: cols}
		}
	}
	return handshake.WriteRun(s.streams.Stdin(), run)
}

// harnessStarts is called before the harness's first byte is passed on.
func (s *session) harnessStarts() error {
	if s.terminal != nil {
		if err := s.terminal.Raw(); err != nil {
			return err
		}
	}
	close(s.started)
	go s.feed()
	return nil
}

// feed passes the caller's input on, and its end. It may outlive the box,
// which reads no more then.
func (s *session) feed() {
	if s.decision.Plan.Terminal.Stdin {
		io.Copy(s.streams.Stdin(), s.sys.Stdin)
	}
	if !s.decision.Plan.Terminal.TTY {
		s.streams.CloseStdin()
	}
}

// holdTerminal takes the terminal over if the box gets one.
func (s *session) holdTerminal() error {
	if !s.decision.Plan.Terminal.TTY {
		return nil
	}
	t, err := terminal.Open(s.sys.Stdin)
	if err != nil {
		return err
	}
	s.terminal = t
	return t.Hold()
}

// outOfMemory asks whether the kernel killed in the box for want of memory.
func (s *session) outOfMemory() bool {
	ctx, cancel := context.WithTimeout(context.Background(), removal)
	defer cancel()
	state, err := s.engine.Inspect(ctx, s.id)
	return err == nil && state.OOMKilled
}

// isReaderGone reports whether a copy ended because nobody reads the
// launcher's output any more.
func isReaderGone(err error) bool {
	var w *engine.WriteError
	return errors.As(err, &w) && errors.Is(err, syscall.EPIPE)
}
