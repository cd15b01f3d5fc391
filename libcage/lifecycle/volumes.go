package lifecycle

import (
	"context"
	"slices"
	"strings"

	"github.com/agent-cage/agent-cage/libcage/engine"
)

// VolumeLister lists an engine's volumes.
type VolumeLister interface {
	// Volumes lists the volumes that have all the labels; an empty value
	// stands for any.
	Volumes(ctx context.Context, labels map[string]string) ([]engine.Volume, error)
}

// Volume is a volume of the calling user's, from this machine.
type Volume struct {
	Name string
	// Kind is what it is for, Project the directory whose boxes use it; empty
	// if it does not say.
	Kind, Project string
}

// OrphanVolumes lists the calling user's volumes of this machine whose project
// is not there any more, by name (VolumeList). One that a container uses may be
// among them: an engine does not remove it.
func OrphanVolumes(ctx context.Context, eng VolumeLister, host *Host, exists func(dir string) bool) ([]Volume, error) {
	labels := host.Self.owner()
	labels[LabelKind] = ""
	list, err := eng.Volumes(ctx, labels)
	if err != nil {
		return nil, err
	}
	var orphans []Volume
	for _, v := range list {
		if project := v.Labels[LabelProject]; project == "" || !exists(project) {
			orphans = append(orphans, Volume{Name: v.Name, Kind: v.Labels[LabelKind], Project: project})
		}
	}
	slices.SortFunc(orphans, func(a, b Volume) int { return strings.Compare(a.Name, b.Name) })
	return orphans, nil
}
