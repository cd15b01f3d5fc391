package lifecycle

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/libcage/engine"
)

type volumeStore struct {
	asked  map[string]string
	stored []engine.Volume
}

func (s *volumeStore) Volumes(_ context.Context, labels map[string]string) ([]engine.Volume, error) {
	s.asked = labels
	return s.stored, nil
}

func TestOrphanVolumes(t *testing.T) {
	store := &volumeStore{stored: []engine.Volume{
		{Name: "gone", Labels: map[string]string{LabelKind: "engine-cache", LabelProject: "/gone"}},
		{Name: "there", Labels: map[string]string{LabelKind: "engine-cache", LabelProject: "/there"}},
		{Name: "any", Labels: map[string]string{LabelKind: "engine-cache"}},
	}}
	host := &Host{Self: Launcher{Machine: "m", UID: 1000}}
	got, err := OrphanVolumes(t.Context(), store, host, func(dir string) bool { return dir == "/there" })
	if err != nil {
		t.Fatal(err)
	}
	want := []Volume{{Name: "any", Kind: "engine-cache"}, {Name: "gone", Kind: "engine-cache", Project: "/gone"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{LabelKind: "", LabelMachine: "m", LabelUID: "1000"}, store.asked); diff != "" {
		t.Errorf("others' volumes are asked for: %s", diff)
	}
}
