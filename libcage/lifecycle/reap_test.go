package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/libcage/engine"
)

// fakeEngine filters by labels as an engine does.
type fakeEngine struct {
	mu         sync.Mutex
	containers []engine.Container
	lists      int
	stuck      string
}

func (f *fakeEngine) List(_ context.Context, labels map[string]string) ([]engine.Container, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists++
	var list []engine.Container
	for _, c := range f.containers {
		matches := true
		for name, value := range labels {
			got, ok := c.Labels[name]
			matches = matches && ok && (value == "" || got == value)
		}
		if matches {
			list = append(list, c)
		}
	}
	return list, nil
}

func (f *fakeEngine) Remove(_ context.Context, id string, force bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id == f.stuck {
		return errors.New("device or resource busy")
	}
	f.containers = slices.DeleteFunc(f.containers, func(c engine.Container) bool {
		return c.ID == id && (force || c.State != "running")
	})
	return nil
}

func (f *fakeEngine) add(id string, l Launcher, state string, extra map[string]string) {
	labels := BoxLabels("claude-box", "/p")
	maps.Copy(labels, l.Labels())
	maps.Copy(labels, extra)
	f.containers = append(f.containers, engine.Container{
		ID: id, Name: id, State: state, Labels: labels, Created: booted.Add(time.Hour),
	})
}

func (f *fakeEngine) ids() []string {
	var ids []string
	for _, c := range f.containers {
		ids = append(ids, c.ID)
	}
	return ids
}

// crowd is an engine with boxes of all kinds of launchers.
func crowd() *fakeEngine {
	f := &fakeEngine{}
	self := testHost().Self
	with := func(change func(*Launcher)) Launcher {
		l := self
		change(&l)
		return l
	}
	gone := with(func(l *Launcher) { l.PID = 200 })
	f.add("own", self, "running", nil)
	f.add("living", with(func(l *Launcher) { l.PID, l.Start = 100, "1000" }), "running", nil)
	f.add("living-created", with(func(l *Launcher) { l.PID, l.Start = 100, "1000" }), "created", nil)
	f.add("dead-running", gone, "running", nil)
	f.add("dead-created", gone, "created", nil)
	f.add("dead-exited", gone, "exited", nil)
	f.add("dead-probe", gone, "exited", map[string]string{LabelKind: KindProbe})
	f.add("dead-other-kind", gone, "exited", map[string]string{LabelKind: "engine-cache"})
	f.add("other-user", with(func(l *Launcher) { l.PID, l.UID = 200, 1001 }), "exited", nil)
	f.add("other-machine", with(func(l *Launcher) { l.PID, l.Machine = 200, "n" }), "exited", nil)
	f.containers = append(f.containers,
		engine.Container{ID: "stranger", State: "exited"},
		engine.Container{ID: "half-labelled", State: "exited", Labels: map[string]string{
			LabelKind: KindBox, LabelUID: "1000", LabelMachine: "m", LabelPID: "200",
		}})
	return f
}

var survivors = []string{"own", "living", "living-created", "dead-other-kind", "other-user", "other-machine", "stranger", "half-labelled"}

func TestReap(t *testing.T) {
	f := crowd()
	removed, err := Reap(t.Context(), f, testHost())
	if err != nil || len(removed) != 4 {
		t.Errorf("%d removed, %v", len(removed), err)
	}
	if diff := cmp.Diff(survivors, f.ids()); diff != "" {
		t.Error(diff)
	}
	if f.lists != 1 {
		t.Errorf("%d list calls, want 1", f.lists)
	}
}

func TestReapersBesideEachOther(t *testing.T) {
	f := crowd()
	for i := range 40 {
		f.add(fmt.Sprintf("more-%d", i), Launcher{Machine: "m", Boot: "b", PIDNamespace: "4026531836", UID: 1000, PID: 200, Start: "1"}, "exited", nil)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := Reap(t.Context(), f, testHost()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff(survivors, f.ids()); diff != "" {
		t.Error(diff)
	}
}

func TestReapGoesOnBehindAStuckBox(t *testing.T) {
	f := crowd()
	f.stuck = "dead-running"
	removed, err := Reap(t.Context(), f, testHost())
	if err == nil || len(removed) != 3 {
		t.Errorf("%d removed, %v: want 3 and an error", len(removed), err)
	}
}

func TestReapRemovesTheNameFileOfTheBoxOnly(t *testing.T) {
	dir := t.TempDir()
	mine, taken := filepath.Join(dir, "mine"), filepath.Join(dir, "taken")
	f := &fakeEngine{}
	gone := testHost().Self
	gone.PID = 200
	f.add("box-1", gone, "exited", map[string]string{LabelNameFile: mine})
	f.add("box-2", gone, "exited", map[string]string{LabelNameFile: taken})
	for path, box := range map[string]string{mine: "box-1", taken: "box-3"} {
		if err := (NameFile{Path: path, Box: box}).Publish(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Reap(t.Context(), f, testHost()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(mine); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the name file is left: %v", err)
	}
	if text, err := os.ReadFile(taken); err != nil || string(text) != "box-3\n" {
		t.Errorf("the name file of another box: %q, %v", text, err)
	}
}

func TestBoxes(t *testing.T) {
	f := &fakeEngine{}
	f.add("b", testHost().Self, "running", map[string]string{LabelPosture: "none"})
	f.add("a", testHost().Self, "exited", nil)
	boxes, err := Boxes(t.Context(), f, testHost())
	if err != nil || len(boxes) != 2 {
		t.Fatalf("%+v, %v", boxes, err)
	}
	if boxes[0].Name != "a" || boxes[0].Running() || !boxes[1].Running() {
		t.Errorf("%+v", boxes)
	}
	want := Box{
		ID: "b", Name: "b", Kind: KindBox, Label: "claude-box", Project: "/p", Posture: "none",
		State: "running", Created: booted.Add(time.Hour), Launcher: testHost().Self, Verdict: Alive,
	}
	if diff := cmp.Diff(want, boxes[1]); diff != "" {
		t.Error(diff)
	}
}

func TestRemoveAllBeginsNothingAfterItsEnd(t *testing.T) {
	f := crowd()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	boxes, err := Boxes(t.Context(), f, testHost())
	if err != nil {
		t.Fatal(err)
	}
	removed, err := RemoveAll(ctx, f, boxes)
	if len(removed) != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d removed, %v", len(removed), err)
	}
}
