// Package buildkit builds images with the BuildKit of a Docker engine, through
// the engine's API: no docker command and no plug-in of it is needed. It is
// apart from package engine so that programs that build nothing do not start
// with BuildKit's client.
package buildkit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
	"github.com/tonistiigi/fsutil"

	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/image"
)

// Engine is an engine as package image needs it.
type Engine struct {
	Client *engine.Client
}

var _ image.Engine = Engine{}

// Images looks references up in the store (ImageList).
func (e Engine) Images(ctx context.Context, refs ...string) (map[string]image.Stored, error) {
	images, err := e.Client.Images(ctx, refs...)
	if err != nil {
		return nil, err
	}
	stored := make(map[string]image.Stored, len(images))
	for ref, img := range images {
		stored[ref] = image.Stored{ID: img.ID, Labels: img.Labels}
	}
	return stored, nil
}

// Remove removes an image from the store if nothing stands on it (ImageRemove).
func (e Engine) Remove(ctx context.Context, id string) error {
	return e.Client.RemoveImage(ctx, id)
}

// Platform asks the engine what it is (Info).
func (e Engine) Platform(ctx context.Context) (image.Platform, error) {
	info, err := e.Client.Info(ctx)
	if err != nil {
		return image.Platform{}, err
	}
	return image.Platform{ID: info.ID, OS: info.OS, Arch: info.Arch}, nil
}

// Build builds an image with the Dockerfile frontend that is in the engine and
// leaves it in the engine's store (Hijack /grpc, Hijack /session). When the
// context ends, the build does. The error is an *image.BuildError, an
// *engine.UnreachableError if the engine went away, or the context's.
func (e Engine) Build(ctx context.Context, build image.Build, progress image.Progress) error {
	show, err := newDisplay(progress)
	if err != nil {
		return err
	}
	bk, err := e.dial(ctx)
	if err != nil {
		return err
	}
	defer bk.Close()

	statuses := make(chan *client.SolveStatus)
	shown := make(chan string)
	go func() { shown <- show(statuses) }()
	_, err = bk.Solve(ctx, nil, solveOptions(build), statuses)
	log := <-shown
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if lost := e.lost(ctx); lost != nil {
		return lost
	}
	return &image.BuildError{Ref: build.Ref, Cause: causeOf(err.Error(), log), Log: log, Err: err}
}

// lostTimeout bounds the question whether an engine is still there.
const lostTimeout = 10 * time.Second

// lost returns why the engine cannot be spoken to, if so (Info).
func (e Engine) lost(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lostTimeout)
	defer cancel()
	_, err := e.Client.Info(ctx)
	var unreachable *engine.UnreachableError
	if errors.As(err, &unreachable) {
		return err
	}
	return nil
}

// dial connects to BuildKit. The address is never looked at: both streams are
// the engine's.
func (e Engine) dial(ctx context.Context) (*client.Client, error) {
	bk, err := client.New(ctx, "passthrough:///engine",
		client.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return e.Client.Hijack(ctx, "/grpc", "h2c", nil)
		}),
		client.WithSessionDialer(func(ctx context.Context, proto string, meta map[string][]string) (net.Conn, error) {
			return e.Client.Hijack(ctx, "/session", proto, meta)
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to the engine's BuildKit: %w", err)
	}
	return bk, nil
}

func solveOptions(build image.Build) client.SolveOpt {
	key := build.Key
	if key == "" {
		key = rand.Text()
	}
	attrs := map[string]string{
		"filename": build.Dockerfile,
		"platform": build.Platform,
	}
	for name, value := range build.Args {
		attrs["build-arg:"+name] = value
	}
	for name, value := range build.Labels {
		attrs["label:"+name] = value
	}
	files := contextFS{build.Context}
	return client.SolveOpt{
		Exports:       []client.ExportEntry{{Type: "moby", Attrs: map[string]string{"name": reference(build.Ref)}}},
		LocalMounts:   map[string]fsutil.FS{"context": files, "dockerfile": files},
		Frontend:      "dockerfile.v0",
		FrontendAttrs: attrs,
		Session:       []session.Attachable{secretsprovider.FromMap(build.Secrets)},
		// BuildKit takes a file for unchanged whose size and time are those of
		// an earlier transfer under the same key, and every file here has the
		// same time: no two sets of inputs may share a key.
		SharedKey: key,
	}
}

// reference completes a short name as the engine's store has it: exporters of
// some engines keep the name as it is given.
func reference(ref string) string {
	first, _, slash := strings.Cut(ref, "/")
	switch {
	case !slash:
		ref = "docker.io/library/" + ref
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		ref = "docker.io/" + ref
	}
	if !strings.Contains(ref[strings.LastIndexByte(ref, '/'):], ":") {
		ref += ":latest"
	}
	return ref
}

// baseMissing is how engines since 20.10 say that the parent of an image
// cannot be had.
var baseMissing = regexp.MustCompile(`(?i)failed to resolve source metadata|` +
	`pull access denied|failed to do request: (Head|Get)|repository does not exist|` +
	`failed to create LLB definition: .*(not found|lookup|dial tcp|failed to do request)|` +
	`failed to solve with frontend dockerfile\.v0: .*(failed to do request|not found|lookup|dial tcp)`)

func causeOf(message, log string) image.Cause {
	switch {
	case engine.SaysNoSpace(message), engine.SaysNoSpace(log):
		return image.NoSpace
	case baseMissing.MatchString(message):
		return image.BaseMissing
	}
	return image.StepFailed
}
