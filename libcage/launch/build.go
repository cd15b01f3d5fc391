package launch

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/moby/term"

	"github.com/agent-cage/agent-cage/images"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/engine/buildkit"
	"github.com/agent-cage/agent-cage/libcage/image"
)

// distribution is what cage-base starts from.
const distribution = "debian:trixie-slim"

// build brings cage-base and the payload's image up to date.
func (l *launcher) build(ctx context.Context, client *engine.Client, f *facts) error {
	chain, err := l.chain()
	if err != nil {
		return err
	}
	opts := image.Options{
		StateDir:  l.stateHome(f.caller.Home),
		ProxyArgs: image.ProxyArgs(l.getenv),
		Progress:  image.Progress{Lines: l.sys.Stderr},
		Notice:    l.say.progress,
		Log:       l.sys.Stderr,
	}
	if len(f.ca) > 0 {
		opts.Secrets = map[string][]byte{images.CASecret: f.ca}
	}
	if term.IsTerminal(l.sys.Stderr.Fd()) {
		opts.Progress = image.Progress{Terminal: l.sys.Stderr}
	}
	_, err = image.Ensure(ctx, buildkit.Engine{Client: client}, chain, opts)
	return err
}

// chain is the payload's image and what it is built on, parents first.
func (l *launcher) chain() ([]image.Spec, error) {
	cage, err := images.Context(images.Cage)
	if err != nil {
		return nil, err
	}
	binaries := image.LibexecDirs(l.sys.Executable, l.getenv)
	return []image.Spec{
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
				if l.payload.Image.Args != nil {
					in.Args, err = l.payload.Image.Args(arch)
				}
				return in, err
			},
		},
	}, nil
}

// stateHome is where the launchers keep what is not a harness's.
func (l *launcher) stateHome(home string) string {
	return filepath.Join(cmp.Or(l.getenv("XDG_STATE_HOME"), filepath.Join(home, ".local", "state")), "agent-cage")
}
