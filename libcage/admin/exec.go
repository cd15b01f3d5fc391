package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

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
}

// NewCmdExec is cage exec.
func NewCmdExec(f *Factory, runF func(*ExecOptions) error) *cobra.Command {
	opts := &ExecOptions{}
	cmd := &cobra.Command{
		Use:   "exec NAME COMMAND [ARGUMENT...]",
		Short: "Run a command in a box as its harness",
		Long: "Runs a command in a running box as the harness: the same user, environment and namespaces, and\n" +
			"no more privileges. Ends with the command's status.",
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: f.completeBoxes,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name, opts.Argv = args[0], args[1:]
			if runF != nil {
				return runF(opts)
			}
			return runExec(cmd.Context(), f, opts)
		},
	}
	// What follows the name is the command's, flags among it.
	cmd.Flags().SetInterspersed(false)
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
		streams := f.Terminal()
		running, err := eng.Exec(ctx, box.ID, engine.ExecSpec{
			Argv: needs.Exec(opts.Argv), User: "0:0", TTY: streams.TTY, Stdin: streams.Stdin,
		})
		if err != nil {
			return err
		}
		defer running.Close()
		if err := f.connect(ctx, running, streams.TTY, streams.Stdin); err != nil {
			return err
		}
		status, err := running.ExitStatus(context.WithoutCancel(ctx))
		if err == nil && status != 0 {
			return &StatusError{Status: status}
		}
		return err
	})
}

// connect carries the streams until the command's output ends.
func (f *Factory) connect(ctx context.Context, running *engine.Exec, tty, stdin bool) error {
	defer context.AfterFunc(ctx, func() { running.Close() })()
	if tty {
		release, err := f.lendTerminal(ctx, running)
		if err != nil {
			return err
		}
		defer release()
	}
	go func() {
		// It may outlive the command, which reads no more then.
		if stdin {
			_, _ = io.Copy(running.Stdin(), f.Stdin)
		}
		if !tty {
			_ = running.CloseStdin()
		}
	}()
	err := running.Copy(f.Stdout, f.Stderr)
	if ctx.Err() != nil {
		return errors.New("exec: interrupted; the command is left to the box")
	}
	return err
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
