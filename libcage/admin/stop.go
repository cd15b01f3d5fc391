package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/lifecycle"
)

// Stopper is what stopping a box needs of an engine.
type Stopper interface {
	Wait(ctx context.Context, id string) (<-chan engine.Exit, error)
	Signal(ctx context.Context, id, name string) error
	Remove(ctx context.Context, id string, force bool) error
}

// StopOptions are those of cage stop.
type StopOptions struct {
	// Name is empty with All.
	Name string
	All  bool
	// Grace is how long a harness has to end.
	Grace time.Duration
}

// defaultGrace is that of docker stop.
const defaultGrace = 10 * time.Second

// NewCmdStop is cage stop.
func NewCmdStop(f *Factory, runF func(*StopOptions) error) *cobra.Command {
	opts := &StopOptions{}
	cmd := &cobra.Command{
		Use:   "stop {NAME | --all}",
		Short: "End a box, or all of yours on this machine",
		Long: "Ends a box as docker stop does: its harness gets SIGTERM, and SIGKILL after the time.\n" +
			"The launcher, if it lives, ends with the harness's status.",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: f.completeBoxes,
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.All == (len(args) == 1) {
				return errors.New("stop: give the name of a box or --all: see cage ps")
			}
			if len(args) == 1 {
				opts.Name = args[0]
			}
			if runF != nil {
				return runF(opts)
			}
			return runStop(cmd.Context(), f, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.All, "all", false, "stop all of your boxes on this machine")
	opts.Grace = defaultGrace
	cmd.Flags().VarP((*grace)(&opts.Grace), "time", "t", "how long a harness has to end, in seconds as of docker stop or with a unit")
	return cmd
}

// grace is a time that may be given as docker stop takes it.
type grace time.Duration

func (g *grace) Set(s string) error {
	if _, err := strconv.ParseUint(s, 10, 31); err == nil {
		s += "s"
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = errors.New("it is below 0")
	}
	*g = grace(d)
	return err
}

func (g *grace) String() string { return time.Duration(*g).String() }

func (g *grace) Type() string { return "duration" }

// NoBoxError is a name that none of the caller's boxes has.
type NoBoxError struct{ Name string }

func (e *NoBoxError) Error() string {
	return fmt.Sprintf("no box of yours is called %q: see cage ps", e.Name)
}

// findBox returns the box with a name, or with an ID that begins with it.
func findBox(boxes []lifecycle.Box, name string) (lifecycle.Box, error) {
	for _, b := range boxes {
		if b.Name == name || len(name) >= 12 && len(name) <= len(b.ID) && b.ID[:len(name)] == name {
			return b, nil
		}
	}
	return lifecycle.Box{}, &NoBoxError{Name: name}
}

func runStop(ctx context.Context, f *Factory, opts *StopOptions) error {
	return f.withBoxes(ctx, func(eng Engine, boxes []lifecycle.Box) error {
		if !opts.All {
			box, err := findBox(boxes, opts.Name)
			if err != nil {
				return err
			}
			boxes = []lifecycle.Box{box}
		}
		failed := make([]error, len(boxes))
		var all sync.WaitGroup
		for i, box := range boxes {
			all.Go(func() {
				if err := stop(ctx, eng, box, opts.Grace); err != nil {
					failed[i] = fmt.Errorf("box %s: %w", box.Name, err)
				}
			})
		}
		all.Wait()
		for i, box := range boxes {
			if failed[i] == nil {
				fmt.Fprintln(f.Stdout, box.Name)
			}
		}
		return errors.Join(failed...)
	})
}

// stop ends a box. Its removal is the launcher's, who asks how it ended first;
// a box that never started, or whose launcher is not known to live, is removed
// here.
func stop(ctx context.Context, eng Engine, box lifecycle.Box, grace time.Duration) error {
	if box.Running() {
		if err := end(ctx, eng, box.ID, grace); err != nil {
			return err
		}
		if box.Verdict == lifecycle.Alive {
			return nil
		}
	}
	_, err := lifecycle.RemoveAll(ctx, eng, []lifecycle.Box{box})
	return err
}

// end returns when the box has ended.
func end(ctx context.Context, eng Stopper, id string, grace time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended, err := eng.Wait(ctx, id)
	if err != nil {
		return unlessOver(err)
	}
	if err := eng.Signal(ctx, id, "SIGTERM"); err != nil {
		return unlessOver(err)
	}
	select {
	case exit := <-ended:
		return unlessOver(exit.Err)
	case <-time.After(grace):
	}
	if err := eng.Signal(ctx, id, "SIGKILL"); err != nil {
		return unlessOver(err)
	}
	return unlessOver((<-ended).Err)
}

// unlessOver drops the errors of a box that has ended in the meantime.
func unlessOver(err error) error {
	if errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrConflict) {
		return nil
	}
	return err
}
