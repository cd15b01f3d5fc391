package launch

import (
	"context"
	"slices"

	"github.com/moby/term"

	"github.com/agent-cage/agent-cage/images"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/engine/buildkit"
	"github.com/agent-cage/agent-cage/libcage/host"
	"github.com/agent-cage/agent-cage/libcage/image"
	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/receipt"
)

// distribution is what cage-base starts from.
const distribution = "debian:trixie-slim"

// build brings cage-base and the payload's image up to date.
func (l *launcher) build(ctx context.Context, client *engine.Client, f *facts, chain []image.Spec) error {
	opts := image.Options{
		StateDir:  l.stateHome(),
		ProxyArgs: image.ProxyArgs(l.getenv),
		Progress:  image.Progress{Lines: l.sys.Stderr},
		Notice:    l.say.progress,
		Log:       l.sys.Stderr,
	}
	if len(f.ca) > 0 {
		opts.Secrets = map[string]func() []byte{images.CASecret: f.ca.PEM}
	}
	if term.IsTerminal(l.sys.Stderr.Fd()) {
		opts.Progress = image.Progress{Terminal: l.sys.Stderr}
	}
	built, err := image.Ensure(ctx, buildkit.Engine{Client: client}, chain, opts)
	for _, i := range slices.Backward(built.Images) {
		l.record.receipt.Images = append(l.record.receipt.Images, receipt.Image{Ref: i.Ref, ID: i.ID, Version: i.Inputs})
	}
	return err
}

// chain is the image of a run and what it is built on, parents first.
func (l *launcher) chain(f *facts) ([]image.Spec, error) {
	cage, err := images.Context(images.Cage)
	if err != nil {
		return nil, err
	}
	binaries := image.LibexecDirs(l.sys.Executable, l.getenv)
	chain := []image.Spec{
		{
			Ref: images.Cage, Context: cage, Base: distribution, BaseArg: images.BaseArg,
			Inputs: func(arch string) (image.Inputs, error) {
				found, err := image.FindBinaries(binaries, arch, images.InBoxBinaries()...)
				return image.Inputs{Binaries: found}, err
			},
		},
		{
			Ref: l.payload.Image.Name, Context: l.payload.Image.Files, Base: images.Cage, BaseArg: images.BaseArg,
			Inputs: func(arch string) (in image.Inputs, err error) {
				if l.pin != nil {
					in.Args, err = l.pin.BuildArgs(arch)
				}
				return in, err
			},
		},
	}
	if f.dockerfile != nil {
		chain = append(chain, l.extended(f.dockerfile))
	}
	return chain, nil
}

// imageOf names the image of a run, the last of its chain.
func (l *launcher) imageOf(f *facts, chain []image.Spec) plan.Image {
	last := plan.Image{Ref: chain[len(chain)-1].Ref, Reason: l.harness()}
	if f.dockerfile != nil {
		last.Reason += ", and --dockerfile " + f.dockerfile.Path
	}
	return last
}

// harness names the harness and its version.
func (l *launcher) harness() string {
	if l.pin == nil {
		return l.payload.Title
	}
	return l.payload.Title + " " + l.pin.Version
}

// extended is the image that the caller's Dockerfile makes.
func (l *launcher) extended(d *host.Dockerfile) image.Spec {
	return image.Spec{
		Ref:        l.payload.Image.Name + "-" + d.ID,
		Context:    d.Context,
		Dockerfile: d.Name,
		Base:       l.payload.Image.Name,
	}
}

// stateHome is where the launchers keep what is not a harness's. It is that of
// the user that runs the launcher, also where that is root for somebody else.
func (l *launcher) stateHome() string {
	return host.StateHome(l.getenv, host.OwnHome(l.getenv))
}
