package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// reapTime bounds a Reap, in which an engine may be busy with other things.
const reapTime = 15 * time.Second

// removeTime bounds the removal of one box.
const removeTime = 10 * time.Second

// reapers is how many boxes are removed at the same time.
const reapers = 4

// Remover is what a reaper needs of an engine.
type Remover interface {
	Lister
	// Remove removes a container, and kills it first if force is set. One that
	// is gone, or that somebody else is removing, is no error.
	Remove(ctx context.Context, id string, force bool) error
}

// Reap removes what dead launchers of this user on this machine have left:
// boxes, probes, and the files that held their names. It is one list call
// (ContainerList) and one call for each box that is removed
// (ContainerRemove), within 15 seconds. It may run beside a launch and beside
// other reapers, and returns the boxes that it removed, also with an error.
func Reap(ctx context.Context, eng Remover, host *Host) ([]Box, error) {
	ctx, cancel := context.WithTimeout(ctx, reapTime)
	defer cancel()
	boxes, err := Boxes(ctx, eng, host)
	if err != nil {
		return nil, err
	}
	return RemoveAll(ctx, eng, Orphans(boxes))
}

// Orphans are the boxes whose launcher is dead.
func Orphans(boxes []Box) []Box {
	var orphans []Box
	for _, b := range boxes {
		if b.Verdict == Dead {
			orphans = append(orphans, b)
		}
	}
	return orphans
}

// RemoveAll removes boxes, a few at the same time, with the files that hold
// their names. It returns those that it removed, also with an error. Once the
// context has ended it begins no further removal; those under way, it ends.
func RemoveAll(ctx context.Context, eng Remover, boxes []Box) ([]Box, error) {
	failed := make([]error, len(boxes))
	free := make(chan struct{}, reapers)
	var all sync.WaitGroup
	for i, b := range boxes {
		free <- struct{}{}
		if failed[i] = ctx.Err(); failed[i] != nil {
			<-free
			continue
		}
		all.Go(func() {
			failed[i] = remove(ctx, eng, b)
			<-free
		})
	}
	all.Wait()
	var removed []Box
	for i, b := range boxes {
		if failed[i] == nil {
			removed = append(removed, b)
		}
	}
	return removed, errors.Join(failed...)
}

func remove(ctx context.Context, eng Remover, b Box) error {
	// Broken off, it would leave the name file of a box that is gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	if err := eng.Remove(ctx, b.ID, true); err != nil {
		return fmt.Errorf("box %s: %w", b.Name, err)
	}
	if b.NameFile == "" {
		return nil
	}
	return NameFile{Path: b.NameFile, Box: b.Name}.Remove()
}
