package launch

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/term"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/cabundle"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/handshake"
	"github.com/agent-cage/agent-cage/libcage/terminal"
	"github.com/agent-cage/agent-cage/libcage/witness"
)

// session is the time in which a box runs: its streams, and the handshake at
// their beginning.
type session struct {
	*box
	streams *engine.Attachment
	ended   <-chan engine.Exit
	nonce   string
	// started is closed when the harness has the streams.
	started chan struct{}
	watch   watch
	window  window
}

// run carries the streams until the box has ended, and returns how. The error
// is an io error of the launcher's own output.
func (s *session) run() (exitstatus.End, error) {
	s.started, s.watch = make(chan struct{}), newWatch()
	dialogue := handshake.NewDialogue(s.nonce, s.output(), handshake.Events{
		Ready:    s.sendRun,
		Progress: s.progress,
		Go:       s.harnessStarts,
	})
	copied := make(chan error, 1)
	go s.console.guard(func() {
		err := s.streams.Copy(dialogue, outlet{s.sys.Stderr})
		copied <- errors.Join(err, dialogue.Close())
	})
	s.console.attend(s.windowChanged, s.watch.over)
	k := &keeper{session: s, copied: copied}
	k.keep()
	s.console.close()
	outcome := dialogue.Outcome()
	k.end.Started = outcome.Reached >= handshake.Started
	k.end.Said = outcome.Fault
	k.end.Output = writeError(k.outputErr)
	if k.end.Exited && k.end.Status == exitstatus.OutOfMemory.Status() {
		k.end.OOMKilled = k.outOfMemory()
	}
	return k.end, k.outputErr
}

// output is where the harness's bytes go.
func (s *session) output() io.Writer {
	if s.console != nil {
		return s.console
	}
	return outlet{s.sys.Stdout}
}

// sendRun answers cage-init's ready.
func (s *session) sendRun(trusted []cabundle.ID) (err error) {
	s.watchFirst()
	p := s.decision.Plan
	run := &handshake.Run{
		Nonce:    s.nonce,
		Plan:     *p,
		Argv:     p.Command.Argv,
		Env:      s.decision.Env,
		Dir:      p.Project.WorkDir,
		CABundle: string(s.facts.ca.Without(trusted).PEM()),
		Size:     s.window.tell(s.console.size()),
		Trace:    s.say.debugging,
	}
	if t := s.facts.terminfo; t != nil {
		run.Files = append(run.Files, handshake.File{
			Path: path.Join(needs.TerminfoDir, t.path), Mode: 0o644, Owner: handshake.Root, Content: string(t.content),
		})
	}
	if run.Witnesses, err = s.witnesses(); err != nil {
		return err
	}
	return handshake.WriteRun(s.streams.Stdin(), run)
}

// witnesses notes what this side sees of the directories that the box gets. A
// state directory, which other boxes change, has the launch's mark. What the
// caller may not look into is left out, and a state directory that is closed to
// the harness.
func (s *session) witnesses() (all []witness.Witness, err error) {
	stateDir := filepath.Join(s.facts.caller.Home, s.payload.State.Host)
	for _, m := range s.decision.Plan.Mounts {
		if m.Source == stateDir && m.Idmap == nil && s.facts.stateOwner.UID != s.decision.Plan.User.HostUID {
			continue
		}
		if m.Source == stateDir {
			all = append(all, witness.Witness{Dir: m.Source, At: m.Target, Mark: s.facts.mark})
			continue
		}
		if info, err := os.Stat(m.Source); err != nil || !info.IsDir() {
			continue
		}
		w, err := witness.Take(m.Source)
		if errors.Is(err, fs.ErrPermission) && m.Target != s.decision.Plan.Project.Dir {
			continue
		}
		if err != nil {
			return nil, err
		}
		if m.Target != m.Source {
			w.At = m.Target
		}
		all = append(all, w)
	}
	return all, nil
}

// progress takes what cage-init says on its way to the harness.
func (s *session) progress(line string) {
	if warning, ok := strings.CutPrefix(line, handshake.Warning); ok {
		s.say.warn(warning)
		return
	}
	s.say.debug("cage-init: %s", line)
}

// harnessStarts is called before the harness's first byte is passed on.
func (s *session) harnessStarts() error {
	if err := s.console.handOver(); err != nil {
		return err
	}
	s.enter("run")
	s.windowStarts()
	close(s.started)
	go s.console.guard(s.feed)
	return nil
}

// feed passes the caller's input on, and its end. It may outlive the box,
// which reads no more then.
func (s *session) feed() {
	if s.decision.Plan.Terminal.Stdin {
		_, _ = io.Copy(s.streams.Stdin(), s.input())
	}
	if !s.decision.Plan.Terminal.TTY {
		_ = s.streams.CloseStdin()
	}
}

// signal sends the box a signal.
func (s *session) signal(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), removal)
	defer cancel()
	if err := s.engine.Signal(ctx, s.id, name); err != nil {
		s.say.debug("%s: %v", name, err)
	}
}

// input is the caller's standard input. A terminal that the box does not get is
// read only while it is this launcher's to read: a job in the background would
// be stopped for it.
func (s *session) input() io.Reader {
	if s.decision.Plan.Terminal.TTY || !term.IsTerminal(s.sys.Stdin.Fd()) {
		return s.sys.Stdin
	}
	return terminal.Foreground(s.sys.Stdin)
}

// The engine hears of a want of memory by another way than of the end, and
// perhaps later: Docker does on a busy machine.
const (
	memoryTold  = 2 * time.Second
	memoryPause = 100 * time.Millisecond
)

// outOfMemory asks whether the kernel killed in the box for want of memory. A
// box with a limit is asked for until the engine must have heard of it.
func (k *keeper) outOfMemory() bool {
	ctx, cancel := context.WithTimeout(context.Background(), removal)
	defer cancel()
	for latest := time.Now().Add(memoryTold); ; time.Sleep(memoryPause) {
		state, err := k.engine.Inspect(ctx, k.id)
		if err != nil || state.OOMKilled {
			return err == nil
		}
		if k.decision.Plan.Limits.MemoryBytes == 0 || k.end.Stopped || time.Now().After(latest) {
			return false
		}
	}
}
