package engine

import (
	"context"
	"fmt"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
)

// rareDetachKeys takes the place of noDetachKeys in an exec, whose keys travel
// as JSON and so cannot be bytes that are not UTF-8: four times the control
// character that is typed least. A single one is passed on with the next key.
const rareDetachKeys = "ctrl-^,ctrl-^,ctrl-^,ctrl-^"

// ExecSpec is a command to run in a running container.
type ExecSpec struct {
	Argv []string
	// User is UID[:GID] or a name; empty is the image's user.
	User string
	// Env is added to the container's, as NAME=value.
	Env []string
	// WorkDir is the directory; empty is the image's.
	WorkDir string
	TTY     bool
	// Stdin keeps standard input open; otherwise the command reads end of file.
	Stdin bool
}

// Exec is a command that was started in a container.
type Exec struct {
	*Attachment
	ID     string
	client *Client
}

// Exec starts a command in a running container and attaches to it
// (ContainerExecCreate, ContainerExecAttach).
func (c *Client) Exec(ctx context.Context, id string, spec ExecSpec) (*Exec, error) {
	options := container.ExecOptions{
		Cmd:          spec.Argv,
		User:         spec.User,
		Env:          spec.Env,
		WorkingDir:   spec.WorkDir,
		Tty:          spec.TTY,
		AttachStdin:  spec.Stdin,
		AttachStdout: true,
		AttachStderr: true,
		DetachKeys:   rareDetachKeys,
	}
	var created container.ExecCreateResponse
	err := c.call(ctx, "ContainerExecCreate", func() (err error) {
		created, err = c.api.ContainerExecCreate(ctx, id, options)
		return err
	})
	if err != nil {
		return nil, launchError("exec", err, nil)
	}
	var response types.HijackedResponse
	err = c.call(ctx, "ContainerExecAttach", func() (err error) {
		response, err = c.api.ContainerExecAttach(ctx, created.ID, container.ExecAttachOptions{Tty: spec.TTY})
		return err
	})
	if err != nil {
		return nil, launchError("exec", err, nil)
	}
	return &Exec{Attachment: c.attachment(response, spec.TTY), ID: created.ID, client: c}, nil
}

// ExitStatus returns the command's status once its output has ended
// (ContainerExecInspect). It is an error to ask while the command runs.
func (e *Exec) ExitStatus(ctx context.Context) (int, error) {
	var state container.ExecInspect
	err := e.client.call(ctx, "ContainerExecInspect", func() (err error) {
		state, err = e.client.api.ContainerExecInspect(ctx, e.ID)
		return err
	})
	if err != nil {
		return 0, err
	}
	if state.Running {
		return 0, fmt.Errorf("exec %s is still running", e.ID)
	}
	return state.ExitCode, nil
}

// Resize sets the size of the command's terminal (ContainerExecResize).
func (e *Exec) Resize(ctx context.Context, rows, columns uint) error {
	return e.client.call(ctx, "ContainerExecResize", func() error {
		return e.client.api.ContainerExecResize(ctx, e.ID, container.ResizeOptions{Height: rows, Width: columns})
	})
}
