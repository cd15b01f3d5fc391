package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

// Options are how images are ensured.
type Options struct {
	// StateDir is the directory of locks and of the digest cache, made if it is
	// missing: agent-cage below XDG_STATE_HOME.
	StateDir string
	// Secrets make what is for the builds' secret mounts, by id. Only a build
	// calls them.
	Secrets map[string]func() []byte
	// ProxyArgs are build arguments that say how a build reaches the network.
	// They decide nothing about the image and are not among its inputs.
	ProxyArgs map[string]string
	Progress  Progress
	// Notice, if not nil, gets lines for a person, without a newline.
	Notice func(line string)
	// Log, if not nil, gets the whole log of a build that fails.
	Log io.Writer
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Result is what Ensure found and did.
type Result struct {
	// Images are those of the chain that are up to date, parents first: all of
	// it unless there is an error.
	Images []Current
	// Built are the references that were built.
	Built []string
}

// Current is an image that is up to date.
type Current struct {
	Ref string
	// ID is the image's own, Inputs the hash of what went into it.
	ID     string
	Inputs string
}

// Ensure brings a chain of images, each of which is the parent of the next, up
// to date. If they are, it is one call of Engine.Images and reads no binary
// whose digest it knows.
//
// Two callers do not build one image of one engine at the same time: the second
// waits, says so, and looks again. An image that a build of this function made
// and a new one replaced is removed if nothing needs it any more.
//
// A failed build and an input that is missing or unfit are a *exitstatus.Fault
// of the kind image-missing; the context's and other errors of the engine are
// returned as they are.
func Ensure(ctx context.Context, eng Engine, chain []Spec, opts Options) (Result, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	e := &ensurer{
		engine:  eng,
		opts:    opts,
		digests: openDigestCache(filepath.Join(opts.StateDir, "digests.json"), opts.Now),
	}
	result, err := e.chain(ctx, chain)
	e.removeSuperseded(ctx)
	// An unwritten cache costs time only.
	_ = e.digests.save()
	return result, err
}

type ensurer struct {
	engine   Engine
	opts     Options
	digests  *digestCache
	platform *Platform
	// superseded are IDs of images that lost their name to a new build.
	superseded []string
}

// removeSuperseded gives back the space of replaced images, children first.
// The engine keeps those that a box or another image still needs.
func (e *ensurer) removeSuperseded(ctx context.Context) {
	for _, id := range slices.Backward(e.superseded) {
		_ = e.engine.Remove(ctx, id)
	}
}

func (e *ensurer) chain(ctx context.Context, chain []Spec) (Result, error) {
	var result Result
	stored, err := e.engine.Images(ctx, refsOf(chain)...)
	if err != nil {
		return result, err
	}
	for _, spec := range chain {
		current, err := e.current(spec, stored)
		if err != nil {
			return result, inputFault(spec, err)
		}
		if !current {
			var built bool
			if stored, built, err = e.rebuild(ctx, chain, spec); err != nil {
				return result, err
			}
			if built {
				result.Built = append(result.Built, spec.Ref)
			}
		}
		have := stored[spec.Ref]
		result.Images = append(result.Images, Current{Ref: spec.Ref, ID: have.ID, Inputs: have.Labels[InputsLabel]})
	}
	return result, nil
}

// refsOf are the images of a chain and their parents, each once.
func refsOf(chain []Spec) []string {
	var refs []string
	for _, spec := range chain {
		for _, ref := range []string{spec.Base, spec.Ref} {
			if ref != "" && !slices.Contains(refs, ref) {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

// current reports whether the stored image is the one that its inputs give.
// They are taken for the architecture it was built for: an engine keeps its
// own.
func (e *ensurer) current(spec Spec, stored map[string]Stored) (bool, error) {
	have, ok := stored[spec.Ref]
	if !ok || have.Labels[InputsLabel] == "" {
		return false, nil
	}
	arch := have.Labels[ArchLabel]
	inputs, err := spec.inputs(arch)
	if err != nil {
		return false, err
	}
	want, err := inputsHash(spec, inputs, arch, parentID(spec, stored), e.digests.digest)
	return want == have.Labels[InputsLabel], err
}

// parentID is the parent's ID in the store. A parent that is not there counts
// as unchanged: one that was fetched for a build only, or removed afterwards,
// makes no image stale.
func parentID(spec Spec, stored map[string]Stored) string {
	if parent, ok := stored[spec.Base]; ok {
		return parent.ID
	}
	return stored[spec.Ref].Labels[ParentLabel]
}

// rebuild builds one image unless somebody else just did, and returns the store
// as it is afterwards.
func (e *ensurer) rebuild(ctx context.Context, chain []Spec, spec Spec) (stored map[string]Stored, built bool, err error) {
	platform, err := e.platformOf(ctx)
	if err != nil {
		return nil, false, err
	}
	release, err := lockBuild(ctx, e.opts.StateDir, platform.ID, spec.Ref, func() {
		e.notice("waiting for another build of %s", spec.Ref)
	})
	if err != nil {
		return nil, false, err
	}
	defer release()
	refs := refsOf(chain)
	if stored, err = e.engine.Images(ctx, refs...); err != nil {
		return nil, false, err
	}
	current, err := e.current(spec, stored)
	if err != nil {
		return nil, false, inputFault(spec, err)
	}
	if current {
		return stored, false, nil
	}
	if err := e.build(ctx, spec, platform, stored); err != nil {
		return nil, false, err
	}
	old := stored[spec.Ref]
	stored, err = e.engine.Images(ctx, refs...)
	if err != nil {
		return nil, true, err
	}
	if old.Labels[InputsLabel] != "" && old.ID != stored[spec.Ref].ID {
		e.superseded = append(e.superseded, old.ID)
	}
	if stored[spec.Ref].ID == "" {
		err = exitstatus.Faultf(exitstatus.ImageMissing, "%s was built but is not in the engine's store", spec.Ref)
	}
	return stored, true, err
}

func (e *ensurer) build(ctx context.Context, spec Spec, platform Platform, stored map[string]Stored) error {
	build, err := e.prepare(spec, platform, stored)
	if err != nil {
		return inputFault(spec, err)
	}
	e.notice("building %s", spec.Ref)
	err = e.engine.Build(ctx, build, e.opts.Progress)
	var failed *BuildError
	if !errors.As(err, &failed) {
		return err
	}
	if e.opts.Log != nil {
		_, _ = io.WriteString(e.opts.Log, failed.Log)
	}
	return &exitstatus.Fault{Kind: exitstatus.ImageMissing, Detail: failed.Error() + nextStep(spec, failed.Cause), Err: failed}
}

// prepare decides a build.
func (e *ensurer) prepare(spec Spec, platform Platform, stored map[string]Stored) (Build, error) {
	inputs, err := spec.inputs(platform.Arch)
	if err != nil {
		return Build{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(inputs.Binaries)) {
		if err := checkArch(inputs.Binaries[name], platform.Arch); err != nil {
			return Build{}, err
		}
	}
	files, err := newContext(spec.Context, inputs.Binaries)
	if err != nil {
		return Build{}, err
	}
	parent := stored[spec.Base].ID
	key, err := inputsHash(spec, inputs, platform.Arch, parent, e.digests.digest)
	if err != nil {
		return Build{}, err
	}
	args := maps.Clone(e.opts.ProxyArgs)
	if args == nil {
		args = map[string]string{}
	}
	maps.Copy(args, inputs.Args)
	if spec.BaseArg != "" {
		args[spec.BaseArg] = spec.Base
	}
	labels := map[string]string{}
	maps.Copy(labels, spec.Labels)
	maps.Copy(labels, map[string]string{
		InputsLabel: key, ParentLabel: parent, ArchLabel: platform.Arch, KindLabel: "build",
	})
	return Build{
		Ref:        spec.Ref,
		Context:    files,
		Dockerfile: spec.dockerfile(),
		Args:       args,
		Labels:     labels,
		Secrets:    e.secrets(),
		Platform:   platform.OS + "/" + platform.Arch,
		Key:        key,
	}, nil
}

func (e *ensurer) platformOf(ctx context.Context) (Platform, error) {
	if e.platform == nil {
		platform, err := e.engine.Platform(ctx)
		if err != nil {
			return Platform{}, err
		}
		e.platform = &platform
	}
	return *e.platform, nil
}

func (e *ensurer) notice(format string, args ...any) {
	if e.opts.Notice != nil {
		e.opts.Notice(fmt.Sprintf(format, args...))
	}
}

// inputFault is an image that cannot be made for want of an input.
func inputFault(spec Spec, err error) error {
	return &exitstatus.Fault{Kind: exitstatus.ImageMissing, Detail: fmt.Sprintf("inputs of %s: %v", spec.Ref, err), Err: err}
}

// nextStep says what a person can do about a failed build.
func nextStep(spec Spec, cause Cause) string {
	switch cause {
	case NoSpace:
		return "; the engine's disk is full: free space, for example with docker system prune"
	case BaseMissing:
		return fmt.Sprintf("; run ci/bootstrap, or docker pull %s where a registry answers", spec.Base)
	}
	return ""
}

func (e *ensurer) secrets() map[string][]byte {
	made := map[string][]byte{}
	for id, secret := range e.opts.Secrets {
		made[id] = secret()
	}
	return made
}
