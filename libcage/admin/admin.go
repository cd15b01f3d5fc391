// Package admin is the command cage: what a user does about boxes from
// outside them. Each command is a function NewCmdX(f, runF) and its Options;
// tests give runF to see what was parsed.
package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-cage/agent-cage/internal/version"
	"github.com/agent-cage/agent-cage/libcage/doctor"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/host"
	"github.com/agent-cage/agent-cage/libcage/lifecycle"
	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/receipt"
)

// Factory is what commands are given of the process and the world.
type Factory struct {
	Args   []string
	Getenv func(string) string
	// Home is the caller's home directory.
	Home string
	// Executable is the program's own path.
	Executable string
	Stdin      *os.File
	Stdout     io.Writer
	Stderr     io.Writer
	// Terminal says how the three streams are to be connected to a command.
	Terminal func() plan.Terminal
	Now      func() time.Time
	// Harnesses are those that boxes are made for.
	Harnesses []doctor.Harness
	// Engine opens the engine without asking it anything.
	Engine func(ctx context.Context) (Engine, error)
	// Host says who the caller is to its boxes.
	Host func() (*lifecycle.Host, error)
	// Machine is looked over by doctor.
	Machine doctor.Machine
}

// Engine is what commands need of an engine.
type Engine interface {
	doctor.Engine
	lifecycle.Remover
	Stopper
	Collector
	Execer
	Close() error
}

// Process returns the Factory of this process.
func Process(harnesses []doctor.Harness) *Factory {
	exe, err := os.Executable()
	if err != nil {
		exe = os.Args[0]
	}
	f := &Factory{
		Args: os.Args[1:], Getenv: os.Getenv, Home: os.Getenv("HOME"), Executable: exe,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Terminal: func() plan.Terminal { return host.Terminal(os.Stdin, os.Stdout, os.Stderr) },
		Now:      time.Now, Harnesses: harnesses, Host: lifecycle.ThisHost, Machine: doctor.ThisMachine(),
	}
	f.Engine = func(ctx context.Context) (Engine, error) {
		client, err := engine.Open(ctx, engine.Options{Getenv: f.Getenv, Home: f.Home})
		if err != nil {
			return nil, err
		}
		return client, nil
	}
	return f
}

// StatusError ends the command with a status, without a further word.
type StatusError struct{ Status int }

func (e *StatusError) Error() string { return fmt.Sprintf("status %d", e.Status) }

// Main runs the command and returns its exit status: 0, 1 after an error, or
// the status of the program that cage exec ran.
func Main(f *Factory) int {
	if !filepath.IsAbs(f.Home) {
		fmt.Fprintf(f.Stderr, "cage: HOME is %q: let it name your home directory\n", f.Home)
		return 1
	}
	out := &checked{Writer: f.Stdout}
	f.Stdout = out
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	root := NewCmdRoot(f)
	root.SetArgs(f.Args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = out.failure()
	}
	var status *StatusError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return status.Status
	}
	fmt.Fprintln(f.Stderr, "cage:", err)
	return 1
}

// checked remembers the first error of a writer whose callers do not look.
type checked struct {
	io.Writer
	mu  sync.Mutex
	err error
}

func (c *checked) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	return n, err
}

func (c *checked) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// NewCmdRoot is the command itself.
func NewCmdRoot(f *Factory) *cobra.Command {
	root := &cobra.Command{
		Use:           "cage",
		Short:         "Look after the boxes that coding agents run in",
		Version:       version.String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
	}
	root.SetIn(f.Stdin)
	root.SetOut(f.Stdout)
	root.SetErr(f.Stderr)
	root.AddCommand(
		NewCmdPs(f, nil),
		NewCmdStop(f, nil),
		NewCmdExec(f, nil),
		NewCmdGC(f, nil),
		NewCmdDoctor(f, nil),
		NewCmdReceipts(f),
	)
	return root
}

// ownHome is f.Home, or that of the user this process is.
func (f *Factory) ownHome() string {
	return host.OwnHome(func(name string) string {
		if name == "HOME" {
			return f.Home
		}
		return f.Getenv(name)
	})
}

// stateHome is where the project keeps what is not a harness's.
func (f *Factory) stateHome() string {
	return host.StateHome(f.Getenv, f.ownHome())
}

func (f *Factory) receipts() receipt.Store {
	return receipt.Store{Dir: receipt.Dir(f.stateHome())}
}

// withBoxes calls do with the engine and the caller's boxes.
func (f *Factory) withBoxes(ctx context.Context, do func(eng Engine, boxes []lifecycle.Box) error) error {
	self, err := f.Host()
	if err != nil {
		return err
	}
	eng, err := f.Engine(ctx)
	if err != nil {
		return err
	}
	defer eng.Close()
	boxes, err := f.boxes(ctx, eng, self)
	if err != nil {
		return err
	}
	return do(eng, boxes)
}

// boxes are the caller's, also those that were started with sudo in a project
// of the user who called it.
func (f *Factory) boxes(ctx context.Context, eng Engine, self *lifecycle.Host) ([]lifecycle.Box, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the engine does not answer within %v: see cage doctor", patience))
	defer cancel()
	boxes, err := lifecycle.Boxes(ctx, eng, self)
	if uid, ok := host.SudoUID(f.Getenv); ok && self.Self.UID == 0 && err == nil {
		behind := *self
		behind.Self.UID = uid
		var more []lifecycle.Box
		more, err = lifecycle.Boxes(ctx, eng, &behind)
		boxes = append(boxes, more...)
	}
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return boxes, err
}

// completeBoxes offers the names of boxes, if the engine answers soon.
func (f *Factory) completeBoxes(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	var names []string
	err := f.withBoxes(ctx, func(_ Engine, boxes []lifecycle.Box) error {
		for _, b := range boxes {
			names = append(names, b.Name)
		}
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
