// Package image keeps the project's images up to date in an engine's store.
//
// An image is content-addressed: a label holds the hash of everything that went
// into it, its parent's ID included. Whether a chain of images is up to date is
// one question to the engine; the engine itself is behind an interface.
package image

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Labels of a built image.
const (
	// InputsLabel holds the hash of all inputs.
	InputsLabel = "dev.agent-cage.inputs"
	// ParentLabel holds the ID of the parent at the time of the build, empty if
	// the builder fetched a parent that the store does not list.
	ParentLabel = "dev.agent-cage.parent"
	// ArchLabel holds the architecture that the inputs were chosen for.
	ArchLabel = "dev.agent-cage.arch"
	// KindLabel marks the project's objects; a built image has the value
	// "build".
	KindLabel = "dev.agent-cage.kind"
)

// Spec is an image and what goes into it.
type Spec struct {
	// Ref is the image's name and tag.
	Ref string
	// Context holds the Dockerfile and the files that it copies. Of a file's
	// mode only the executable bit counts.
	Context fs.FS
	// Dockerfile is its path in Context; empty is "Dockerfile".
	Dockerfile string
	// Base is the reference of the parent image.
	Base string
	// BaseArg is the build argument that names the parent; empty if the
	// Dockerfile names it itself.
	BaseArg string
	// Labels are added to the image.
	Labels map[string]string
	// Inputs returns the inputs that depend on the engine's architecture, in
	// Go's name for it. It may be nil.
	Inputs func(arch string) (Inputs, error)
}

// Inputs are what an image is made of beside its context.
type Inputs struct {
	// Args are build arguments.
	Args map[string]string
	// Binaries are linux programs for the engine's architecture, put into the
	// root of the context: their paths on this machine, by name.
	Binaries map[string]string
}

// Stored is an image in the engine's store.
type Stored struct {
	ID     string
	Labels map[string]string
}

// Platform identifies an engine.
type Platform struct {
	// ID is the engine's own; no two engines share it.
	ID string
	// OS and Arch are in Go's terms.
	OS   string
	Arch string
}

// Build is one build, with everything decided.
type Build struct {
	Ref        string
	Context    fs.FS
	Dockerfile string
	Args       map[string]string
	Labels     map[string]string
	// Secrets are for the Dockerfile's secret mounts, by id. They are in no
	// layer and no label.
	Secrets map[string][]byte
	// Platform is OS/ARCH.
	Platform string
	// Key is the hash of the inputs: builds with different keys share no
	// transferred files.
	Key string
}

// Progress is where a build is shown. The zero value shows nothing.
type Progress struct {
	// Terminal, if not nil, gets the builder's own display.
	Terminal *os.File
	// Lines, if Terminal is nil, gets one line a step.
	Lines io.Writer
}

// Engine is what is needed of an engine.
type Engine interface {
	// Images looks references up in the store, all in one call.
	Images(ctx context.Context, refs ...string) (map[string]Stored, error)
	// Platform asks the engine what it is.
	Platform(ctx context.Context) (Platform, error)
	// Build builds an image and tags it when it is whole. The image that had
	// the tag stays until then. A failed build is a *BuildError.
	Build(ctx context.Context, build Build, progress Progress) error
	// Remove removes an image by its ID. If a container or another image needs
	// it, it stays and that is an error.
	Remove(ctx context.Context, id string) error
}

// Cause is why a build failed, as far as it can be told.
type Cause string

// The causes that are told apart.
const (
	StepFailed  Cause = "a step of the build failed"
	NoSpace     Cause = "the engine's disk is full"
	BaseMissing Cause = "the parent image is not in the store and could not be fetched"
)

// BuildError is a build that failed.
type BuildError struct {
	Ref   string
	Cause Cause
	// Log is all that the build printed.
	Log string
	Err error
}

func (e *BuildError) Error() string { return fmt.Sprintf("build of %s: %v", e.Ref, e.Err) }

func (e *BuildError) Unwrap() error { return e.Err }
