// Command toy-box is a third launcher, for tests: all that a harness costs is a
// folder, a Dockerfile and these lines. Whatever holds for it holds by
// libcage's doing.
package main

import (
	"embed"
	"io/fs"
	"os"

	"github.com/agent-cage/agent-cage/libcage/launch"
	"github.com/agent-cage/agent-cage/libcage/payload"
)

//go:embed image
var image embed.FS

func main() {
	os.Exit(launch.Main(toy, launch.Process()))
}

func toy() (*payload.Payload, error) {
	files, err := fs.Sub(image, "image")
	return &payload.Payload{
		Label: "toy-box", Prefix: "TOY_BOX", Title: "the toy",
		Image:   payload.Image{Name: "agent-cage-toy", Files: files},
		Command: []string{"toy", "--first"},
		Forward: []string{"TOY_KEY"},
		State:   payload.State{Host: ".toy-box/state", Box: ".toy"},
	}, err
}
