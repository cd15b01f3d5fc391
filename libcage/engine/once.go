package engine

import (
	"bytes"
	"context"
	"strings"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

// RunOnce runs a command in a container that the plan describes, in place of
// the image's own program, and returns what it wrote and its status
// (ContainerCreate, ContainerAttach, ContainerWait, ContainerStart,
// ContainerRemove). It is given no input. A container that the engine refuses
// is a *LaunchError.
func (c *Client) RunOnce(ctx context.Context, p *plan.Plan, argv []string) (output string, status int, err error) {
	id, err := c.createOnce(ctx, p, argv)
	if err != nil {
		return "", 0, err
	}
	defer func() {
		if removed := c.Remove(context.WithoutCancel(ctx), id, true); err == nil {
			err = removed
		}
	}()
	streams, err := c.Attach(ctx, id, false)
	if err != nil {
		return "", 0, err
	}
	defer streams.Close()
	ended, err := c.Wait(ctx, id)
	if err != nil {
		return "", 0, err
	}
	if err := c.Start(ctx, id, p); err != nil {
		return "", 0, err
	}
	var text bytes.Buffer
	if err := streams.Copy(&text, &text); err != nil {
		return "", 0, err
	}
	exit := <-ended
	return strings.TrimSpace(text.String()), exit.Status, exit.Err
}
