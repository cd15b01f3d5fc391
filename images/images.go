// Package images holds the build contexts of the project's container images,
// embedded, and the pins of the harnesses that go into them. It knows nothing of
// an engine: a builder takes the files and the arguments from here.
package images

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Names of the images, without a tag.
const (
	Cage   = "cage-base"
	Claude = "claude-box"
	Codex  = "codex-box"
)

// CASecret is the id of the BuildKit secret under which every Dockerfile here
// looks for a bundle of CA certificates in PEM form. A build without it works
// where the package sources need no further authority.
const CASecret = "ca"

// BaseArg is the build argument that names the image a Dockerfile starts from.
const BaseArg = "BASE"

// InBoxBinaries are the names of the static linux programs that the build
// context of [Cage] needs beside its embedded files, at its root.
func InBoxBinaries() []string { return []string{"cage-init", "sbox", "cage-gate"} }

//go:embed cage claude codex
var contexts embed.FS

var folders = map[string]string{Cage: "cage", Claude: "claude", Codex: "codex"}

// Context returns the embedded part of the build context of the named image: a
// Dockerfile at its root and what it copies. Embedded files carry no mode; the
// Dockerfiles set the modes that matter. Only the names above are known.
func Context(image string) (fs.FS, error) {
	folder, ok := folders[image]
	if !ok {
		return nil, fmt.Errorf("no image %q: known are %s", image, strings.Join(slices.Sorted(maps.Keys(folders)), ", "))
	}
	return fs.Sub(contexts, folder)
}

// Pin is one harness version, and the archive that holds it on each architecture.
type Pin struct {
	Package  string             `json:"package"` // the npm package that says what is the newest version
	Version  string             `json:"version"`
	Archives map[string]Archive `json:"archives"` // by Go's name of the architecture
}

// Archive is one npm package that holds a harness's native programs.
type Archive struct {
	Package   string   `json:"package"`   // name@version
	Integrity string   `json:"integrity"` // npm's form: "sha512-" and base64
	Members   []string `json:"members"`   // paths of the programs within the package
}

// HarnessPin returns the pin of the harness that the named image adds to its
// base. [Cage] has none and is an error.
func HarnessPin(image string) (Pin, error) {
	files, err := Context(image)
	if err != nil {
		return Pin{}, err
	}
	text, err := fs.ReadFile(files, "pin.json")
	if err != nil {
		return Pin{}, fmt.Errorf("image %q pins no harness: %w", image, err)
	}
	var pin Pin
	if err := json.Unmarshal(text, &pin); err != nil {
		return Pin{}, fmt.Errorf("pin of image %q: %w", image, err)
	}
	return pin, nil
}

// BuildArgs returns the build arguments that bring the pinned harness into an
// image for arch, an architecture by Go's name ("amd64", "arm64").
func (p Pin) BuildArgs(arch string) (map[string]string, error) {
	a, ok := p.Archives[arch]
	if !ok {
		return nil, fmt.Errorf("no harness binary for linux/%s: there is one for %s",
			arch, strings.Join(slices.Sorted(maps.Keys(p.Archives)), ", "))
	}
	return map[string]string{"PACKAGE": a.Package, "INTEGRITY": a.Integrity, "MEMBERS": strings.Join(a.Members, " ")}, nil
}
