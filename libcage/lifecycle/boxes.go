package lifecycle

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/agent-cage/agent-cage/libcage/engine"
)

// Lister lists an engine's containers.
type Lister interface {
	// List returns the containers, stopped ones too, that have all the labels;
	// an empty value stands for any.
	List(ctx context.Context, labels map[string]string) ([]engine.Container, error)
}

// Box is a container of the calling user's, from this machine.
type Box struct {
	ID, Name string
	// Kind is KindBox or KindProbe.
	Kind string
	// Label is the name of the launcher that made it, Project its directory.
	Label, Project string
	// Posture is empty if the box does not say.
	Posture string
	// State is the engine's word: created, running, exited, …
	State    string
	Created  time.Time
	Launcher Launcher
	// Verdict says whether the launcher lives.
	Verdict Verdict
	// NameFile is the file that holds the box's name; empty if there is none.
	NameFile string
}

// Running reports whether processes may be in the box.
func (b *Box) Running() bool { return isRunning(b.State) }

func isRunning(state string) bool {
	return !slices.Contains([]string{"created", "exited", "dead", "removing"}, state)
}

// Boxes lists the calling user's boxes and probes of this machine, oldest
// first (ContainerList). Those of others are neither returned nor asked for.
func Boxes(ctx context.Context, eng Lister, host *Host) ([]Box, error) {
	list, err := eng.List(ctx, host.Self.owner())
	if err != nil {
		return nil, err
	}
	var boxes []Box
	for _, c := range list {
		if box, ok := host.box(c); ok {
			boxes = append(boxes, box)
		}
	}
	slices.SortFunc(boxes, func(a, b Box) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return boxes, nil
}

// box reads a container's labels. It is not ok if the container is not of a
// kind that launchers make.
func (h *Host) box(c engine.Container) (Box, bool) {
	kind := c.Labels[LabelKind]
	launcher, ok := ParseLauncher(c.Labels)
	if !ok || kind != KindBox && kind != KindProbe {
		return Box{}, false
	}
	return Box{
		ID: c.ID, Name: c.Name, Kind: kind,
		Label: c.Labels[LabelLauncher], Project: c.Labels[LabelProject], Posture: c.Labels[LabelPosture],
		State: c.State, Created: c.Created,
		Launcher: launcher,
		Verdict:  h.Judge(launcher, isRunning(c.State), c.Created),
		NameFile: c.Labels[LabelNameFile],
	}, true
}
