// Package pinned turns one of the project's images, with the harness that it
// pins, into what a payload is built from.
package pinned

import (
	"fmt"

	"github.com/agent-cage/agent-cage/images"
	"github.com/agent-cage/agent-cage/libcage/payload"
)

// Image returns the image of that name. The error is that of a broken build
// of this program: the files are embedded.
func Image(name string) (payload.Image, error) {
	files, err := images.Context(name)
	if err != nil {
		return payload.Image{}, fmt.Errorf("image %s: %w", name, err)
	}
	pin, err := images.HarnessPin(name)
	if err != nil {
		return payload.Image{}, fmt.Errorf("image %s: %w", name, err)
	}
	return payload.Image{Name: name, Files: files, Pin: &pin}, nil
}
