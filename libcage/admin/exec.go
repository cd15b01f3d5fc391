package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/lifecycle"
	"github.com/agent-cage/agent-cage/libcage/terminal"
)

// Execer runs commands in a box.
type Execer interface {
	Exec(ctx context.Context, id string, spec engine.ExecSpec) (*engine.Exec, error)
}

// ExecOptions are those of cage exec.
type ExecOptions struct {
	Name string
	Argv []string
	// NoStdin leaves standard input to whoever else reads it.
	NoStdin bool
}

// NewCmdExec is cage exec.
func NewCmdExec(f *Factory, runF func(*ExecOptions) error) *cobra.Command {
	opts := &ExecOptions{}
	cmd := &cobra.Command{
		Use:   "exec [-n] NAME COMMAND [ARGUMENT...]",
		Short: "Run a command in a box as its harness",
		Long: "Runs a command in a running box as the harness: the same user, environment and namespaces, and\n" +
			"no more privileges. Ends with the command's status. The command gets the signals that this one is\n" +
			"sent, and SIGKILL with the second.",
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: f.completeBoxes,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name, opts.Argv = args[0], args[1:]
			if opts.Argv[0] == "--" {
				opts.Argv = opts.Argv[1:]
			}
			if len(opts.Argv) == 0 {
				return errors.New("exec: give a command")
			}
			if runF != nil {
				return runF(opts)
			}
			return runExec(cmd.Context(), f, opts)
		},
	}
	// What follows the name is the command's, flags among it.
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().BoolVarP(&opts.NoStdin, "no-stdin", "n", false, "give the command no standard input: for loops that read theirs")
	return cmd
}

func runExec(ctx context.Context, f *Factory, opts *ExecOptions) error {
	return f.withBoxes(ctx, func(eng Engine, boxes []lifecycle.Box) error {
		box, err := findBox(boxes, opts.Name)
		if err != nil {
			return err
		}
		if box.State != "running" {
			return fmt.Errorf("box %s is %s, not running", box.Name, box.State)
		}
		// Signals are the command's, which ends by them or does not.
		ctx = context.WithoutCancel(ctx)
		e := &execution{factory: f, eng: eng, box: box.ID, mark: lifecycle.Random(), signals: make(chan os.Signal, 8)}
		signal.Notify(e.signals, passedOn...)
		defer signal.Stop(e.signals)
		streams := f.Terminal()
		e.running, err = eng.Exec(ctx, box.ID, engine.ExecSpec{
			Argv: needs.Exec(e.mark, opts.Argv), User: "0:0", TTY: streams.TTY, Stdin: streams.Stdin && !opts.NoStdin,
		})
		if err != nil {
			return err
		}
		defer e.running.Close()
		if err := e.connect(ctx, streams.TTY, streams.Stdin && !opts.NoStdin); err != nil {
			return err
		}
		status, err := e.running.ExitStatus(ctx)
		if err == nil && status != 0 {
			return &StatusError{Status: status}
		}
		return err
	})
}

// passedOn are the signals that a command gets. SIGPIPE is among them so that a
// reader that goes away does not end this process before the command.
var passedOn = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE}

// statusOfPipe is that of a program which SIGPIPE ended.
const statusOfPipe = 128 + int(syscall.SIGPIPE)

// execution is a command that runs in a box.
type execution struct {
	factory *Factory
	eng     Engine
	box     string
	// mark tells the command from others.
	mark    string
	running *engine.Exec
	signals chan os.Signal
}

// connect carries the streams until the command's output ends.
func (e *execution) connect(ctx context.Context, tty, stdin bool) error {
	if tty {
		release, err := e.factory.lendTerminal(ctx, e.running)
		if err != nil {
			return err
		}
		defer release()
	}
	go func() {
		// It may outlive the command, which reads no more then.
		if stdin {
			_, _ = io.Copy(e.running.Stdin(), e.factory.Stdin)
		}
		if !tty {
			_ = e.running.CloseStdin()
		}
	}()
	ended := make(chan struct{})
	defer close(ended)
	go e.passSignals(ctx, ended)
	err := e.running.Copy(e.factory.Stdout, e.factory.Stderr)
	var unread *engine.WriteError
	if !errors.As(err, &unread) {
		return err
	}
	// As in a shell, a command that nobody reads ends.
	e.send(ctx, syscall.SIGPIPE)
	if errors.Is(err, syscall.EPIPE) {
		return &StatusError{Status: statusOfPipe}
	}
	return err
}

// passSignals sends the command what this process is sent, and SIGKILL the
// second time.
func (e *execution) passSignals(ctx context.Context, ended <-chan struct{}) {
	again := false
	for {
		select {
		case <-ended:
			return
		case sig := <-e.signals:
			switch {
			case sig == syscall.SIGPIPE:
				continue
			case again:
				sig = syscall.SIGKILL
			}
			again = true
			e.send(ctx, sig.(syscall.Signal))
		}
	}
}

// patience is how long an engine is waited for.
const patience = 15 * time.Second

func (e *execution) send(ctx context.Context, sig syscall.Signal) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	sent, err := e.eng.Exec(ctx, e.box, engine.ExecSpec{Argv: needs.Signal(e.mark, unix.SignalName(sig)), User: "0:0"})
	if err == nil {
		defer context.AfterFunc(ctx, func() { sent.Close() })()
		err = sent.Copy(io.Discard, e.factory.Stderr)
		sent.Close()
	}
	if err != nil {
		fmt.Fprintf(e.factory.Stderr, "cage: the command did not get %s: %v\n", unix.SignalName(sig), err)
	}
}

// lendTerminal gives the command the terminal until release is called, and
// follows its size.
func (f *Factory) lendTerminal(ctx context.Context, running *engine.Exec) (release func(), err error) {
	t, err := terminal.Open(f.Stdin)
	if err != nil {
		return nil, err
	}
	if err := t.Raw(); err != nil {
		return nil, err
	}
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	resized <- syscall.SIGWINCH // the first size
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-resized:
				if rows, cols, err := t.Size(); err == nil {
					_ = running.Resize(ctx, uint(rows), uint(cols)) // the next one may do better
				}
			}
		}
	}()
	return func() {
		signal.Stop(resized)
		close(done)
		_ = t.Restore() // nothing is left to be done about an error
	}, nil
}
