//go:build linux

package boxinit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/agent-cage/agent-cage/libcage/handshake"
	"github.com/agent-cage/agent-cage/libcage/plan"
)

func TestZoneIsTheProject(t *testing.T) {
	for _, project := range []string{"/srv/app", "/srv/a b", `/srv/"quoted"\n`, "/srv/new\nline\x7f", "/srv/é"} {
		b := &box{root: t.TempDir(), run: &handshake.Run{Plan: plan.Plan{Project: plan.Project{Dir: project}}}}
		if err := b.writeZone(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(b.root, zoneFile))
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := toml.Unmarshal(data, &got); err != nil || len(got) != 1 || got["project"] != project {
			t.Errorf("%q: %v, %v in\n%s", project, got, err, data)
		}
	}
}

func TestZoneOfTheImageStays(t *testing.T) {
	b := &box{root: t.TempDir(), run: &handshake.Run{Plan: plan.Plan{Project: plan.Project{Dir: "/srv/app"}}}}
	name := filepath.Join(b.root, zoneFile)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("own"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.writeZone(); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != "own" {
		t.Errorf("%q, %v", data, err)
	}
}
