package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

// Start starts a container that Create has made of the plan (ContainerStart).
// One that the engine cannot start is a *LaunchError.
func (c *Client) Start(ctx context.Context, id string, p *plan.Plan) error {
	return launchError("start", c.call(ctx, "ContainerStart", func() error {
		return c.api.ContainerStart(ctx, id, container.StartOptions{})
	}), wordsOf(p))
}

// Exit is how a container's next run ended.
type Exit struct {
	// Status is that of PID 1, 128+S if it died of signal S. It is meaningless
	// if Err is not nil.
	Status int
	// Err is an *UnreachableError when the engine went away, the context's
	// error when that ended, or what the engine said about the wait.
	Err error
}

// Wait registers for the next exit of the container and returns when the
// engine has confirmed that, so a run started afterwards cannot be missed
// (ContainerWait). The channel gets exactly one value.
func (c *Client) Wait(ctx context.Context, id string) (<-chan Exit, error) {
	var exited <-chan container.WaitResponse
	var failed <-chan error
	err := c.call(ctx, "ContainerWait", func() error {
		exited, failed = c.api.ContainerWait(ctx, id, container.WaitConditionNextExit)
		select {
		case err := <-failed:
			return err
		default:
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	result := make(chan Exit, 1)
	go func() {
		select {
		case err := <-failed:
			result <- Exit{Err: c.wrap("ContainerWait", err)}
		case response := <-exited:
			result <- c.exit(response)
		case <-ctx.Done():
			result <- Exit{Err: ctx.Err()}
		}
	}()
	return result, nil
}

func (c *Client) exit(response container.WaitResponse) Exit {
	if response.Error != nil && response.Error.Message != "" {
		return Exit{Err: &ResponseError{Call: "ContainerWait", Message: response.Error.Message}}
	}
	return Exit{Status: int(response.StatusCode)}
}

// State is the state of a container.
type State struct {
	// ID is the container's, Image what it was made from, as it was asked for.
	ID      string
	Image   string
	Running bool
	// Status is the engine's word: created, running, exited, dead, …
	Status string
	// ExitCode is that of the last run.
	ExitCode int
	// OOMKilled is set when the kernel killed something of the box for memory.
	OOMKilled bool
	// Error is the engine's text if it could not start or stop the container.
	Error      string
	StartedAt  time.Time
	FinishedAt time.Time
	Labels     map[string]string
}

// Inspect returns the state of a container (ContainerInspect).
func (c *Client) Inspect(ctx context.Context, id string) (State, error) {
	var raw container.InspectResponse
	err := c.call(ctx, "ContainerInspect", func() (err error) {
		raw, err = c.api.ContainerInspect(ctx, id)
		return err
	})
	if err != nil {
		return State{}, err
	}
	state := State{
		ID:         raw.ID,
		Running:    raw.State.Running,
		Status:     string(raw.State.Status),
		ExitCode:   raw.State.ExitCode,
		OOMKilled:  raw.State.OOMKilled,
		Error:      raw.State.Error,
		StartedAt:  parseTime(raw.State.StartedAt),
		FinishedAt: parseTime(raw.State.FinishedAt),
	}
	if raw.Config != nil {
		state.Labels, state.Image = raw.Config.Labels, raw.Config.Image
	}
	return state, nil
}

// parseTime reads a time of the engine; one that it does not give is zero.
func parseTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// Signal sends PID 1 of a running container the signal of that name, TERM or
// SIGTERM (ContainerKill). One that is not running is ErrConflict.
func (c *Client) Signal(ctx context.Context, id, name string) error {
	return c.call(ctx, "ContainerKill", func() error {
		return c.api.ContainerKill(ctx, id, name)
	})
}

// Resize sets the size of a container's terminal (ContainerResize).
func (c *Client) Resize(ctx context.Context, id string, rows, columns uint) error {
	return c.call(ctx, "ContainerResize", func() error {
		return c.api.ContainerResize(ctx, id, container.ResizeOptions{Height: rows, Width: columns})
	})
}

// Remove removes a container and its anonymous volumes, and kills it first if
// force is set (ContainerRemove). One that is gone, or that somebody else is
// removing, is no error.
func (c *Client) Remove(ctx context.Context, id string, force bool) error {
	err := c.call(ctx, "ContainerRemove", func() error {
		return c.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: force, RemoveVolumes: true})
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if errors.Is(err, ErrConflict) && strings.Contains(err.Error(), "already in progress") {
		return nil
	}
	return err
}

// Container is an entry of a list.
type Container struct {
	ID      string
	Name    string
	Image   string
	Labels  map[string]string
	State   string
	Created time.Time
}

// List returns the containers, stopped ones too, that have all the labels; an
// empty value stands for any (ContainerList).
func (c *Client) List(ctx context.Context, labels map[string]string) ([]Container, error) {
	var raw []container.Summary
	err := c.call(ctx, "ContainerList", func() (err error) {
		raw, err = c.api.ContainerList(ctx, container.ListOptions{All: true, Filters: labelFilter(labels)})
		return err
	})
	if err != nil {
		return nil, err
	}
	var list []Container
	for _, summary := range raw {
		entry := Container{
			ID:      summary.ID,
			Image:   summary.Image,
			Labels:  summary.Labels,
			State:   string(summary.State),
			Created: time.Unix(summary.Created, 0),
		}
		if len(summary.Names) > 0 {
			entry.Name = strings.TrimPrefix(summary.Names[0], "/")
		}
		list = append(list, entry)
	}
	return list, nil
}

func labelFilter(labels map[string]string) filters.Args {
	filter := filters.NewArgs()
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		term := key
		if value := labels[key]; value != "" {
			term += "=" + value
		}
		filter.Add("label", term)
	}
	return filter
}
