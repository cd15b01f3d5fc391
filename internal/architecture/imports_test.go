package architecture

import (
	"encoding/json"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/agent-cage/agent-cage/"

// layers lists, for each part of the tree, the parts that it may import. A
// package belongs to the longest entry that its path begins with.
var layers = map[string][]string{
	"cmd":                   {"payloads", "libcage", "gate", "policy", "sandbox", "zone", "internal/version"},
	"payloads":              {"libcage", "images", "payloads/pinned"},
	"libcage":               {"libcage", "images", "zone", "internal/version"},
	"gate":                  {"gate", "policy", "sandbox", "zone", "internal/version", "skills"},
	"policy":                {"policy", "zone"},
	"sandbox":               {"sandbox", "zone"},
	"zone":                  {"zone"},
	"images":                {},
	"ci":                    {"internal/scriptedapi", "internal/githubserver", "internal/bench"},
	"skills":                {},
	"ci/toy-box":            {"libcage"},
	"ci/bench-sbox":         {"sandbox", "internal/bench"},
	"internal/bench":        {},
	"internal/version":      {},
	"internal/scriptedapi":  {"internal/scriptedapi"},
	"internal/githubserver": {},
	"internal/architecture": {},
}

// outside lists, for modules that only some packages may import, which.
var outside = map[string][]string{
	"github.com/docker/docker":    {"libcage/engine"},
	"github.com/docker/cli":       {"libcage/engine"},
	"github.com/moby/buildkit":    {"libcage/engine"},
	"github.com/moby/moby":        {"libcage/engine"},
	"github.com/tonistiigi":       {"libcage/engine"},
	"mvdan.cc/sh":                 {"policy"},
	"github.com/google/go-github": {"gate"},
}

// policyMayImport is all that the classifier is built from beside the
// standard library and its own packages.
var policyMayImport = []string{"mvdan.cc/sh/v3/", module + "zone", module + "policy"}

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	var all []goPackage
	for _, goos := range []string{"linux", "darwin"} {
		cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
		cmd.Dir = "../.."
		cmd.Env = append(cmd.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
			var p goPackage
			if err := d.Decode(&p); err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
	}
	if len(all) < 10 {
		t.Fatalf("go list named %d packages only", len(all))
	}
	return all
}

func TestImportsGoOneWay(t *testing.T) {
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		layer := layerOf(from)
		if layer == "" {
			t.Errorf("%s is in no layer: add it to the map", from)
			continue
		}
		for _, imported := range p.Imports {
			to, ours := strings.CutPrefix(imported, module)
			if ours && !slices.ContainsFunc(layers[layer], func(l string) bool { return below(to, l) }) {
				t.Errorf("%s imports %s: %s may import %q only", from, to, layer, layers[layer])
			}
			for prefix, owners := range outside {
				if below(imported, prefix) && !slices.ContainsFunc(owners, func(o string) bool { return below(from, o) }) {
					t.Errorf("%s imports %s: only %q may", from, imported, owners)
				}
			}
		}
	}
}

func TestPolicyIsPure(t *testing.T) {
	found := false
	for _, p := range packages(t) {
		if p.ImportPath != module+"policy" {
			continue
		}
		found = true
		for _, d := range p.Deps {
			standard := !strings.Contains(strings.Split(d, "/")[0], ".")
			if !standard && !slices.ContainsFunc(policyMayImport, func(m string) bool { return strings.HasPrefix(d, m) }) {
				t.Errorf("policy depends on %s", d)
			}
		}
	}
	if !found {
		t.Error("there is no package policy")
	}
}

// The gate and the cage start for every command, so nothing of the engine is
// in them.
func TestSmallProgramsHaveNoEngine(t *testing.T) {
	for _, p := range packages(t) {
		switch strings.TrimPrefix(p.ImportPath, module) {
		case "cmd/sbox", "cmd/cage-gate", "cmd/cage-init":
		default:
			continue
		}
		for _, d := range p.Deps {
			if below(d, "github.com/docker") || below(d, "github.com/moby/buildkit") {
				t.Errorf("%s depends on %s", path.Base(p.ImportPath), d)
			}
		}
	}
}

// layerOf returns the longest layer that a package lies in.
func layerOf(pkg string) (longest string) {
	for l := range layers {
		if below(pkg, l) && len(l) > len(longest) {
			longest = l
		}
	}
	return longest
}

func below(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
