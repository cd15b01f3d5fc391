package launch

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/agent-cage/agent-cage/images"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/face"
	"github.com/agent-cage/agent-cage/libcage/lifecycle"
	"github.com/agent-cage/agent-cage/libcage/pin"
	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/planner"
)

// pins are the harness versions that this user has moved to.
func (l *launcher) pins() pin.Store { return pin.Store{Dir: filepath.Join(l.stateHome(), "pins")} }

// anybody is an ordinary user's id.
const anybody = 1000

// upgrade moves to the newest version of the harness and builds its image.
// The move counts only once that is there.
func (l *launcher) upgrade(ctx context.Context, client *engine.Client, f *facts, s *signals) error {
	if l.pin == nil {
		return exitstatus.Faultf(exitstatus.Usage, "--upgrade: the image of %s pins no version", l.payload.Title)
	}
	if len(l.options.Args) > 0 {
		return exitstatus.Faultf(exitstatus.Usage, "--upgrade takes no arguments of the harness")
	}
	chain, err := l.chain(f)
	if err != nil {
		return err
	}
	if err := l.build(ctx, client, f, chain[:1]); err != nil {
		return err
	}
	old := *l.pin
	output, err := l.ask(ctx, client, f, s, pin.Query(old))
	if err != nil {
		return err
	}
	newest, err := pin.Read(old, output)
	if err != nil {
		return exitstatus.Faultf(exitstatus.ImageMissing, "--upgrade: %w", err)
	}
	if !pin.Newer(newest.Version, old.Version) {
		_, err := fmt.Fprintf(l.sys.Stdout, "%s %s is the newest version\n", l.payload.Title, old.Version)
		return err
	}
	l.pin = &newest
	if err := l.build(ctx, client, f, chain); err != nil {
		return err
	}
	if err := l.pins().Move(l.payload.Image.Name, newest); err != nil {
		return exitstatus.Faultf(exitstatus.Usage, "--upgrade: the version cannot be noted: %w", err)
	}
	_, err = fmt.Fprintf(l.sys.Stdout, "%s %s, before %s\n", l.payload.Title, newest.Version, old.Version)
	return err
}

// ask runs a command in a box without a harness or a directory of the host,
// and returns its output. The network's ways, certificates and proxies, are
// those of any box.
func (l *launcher) ask(ctx context.Context, client *engine.Client, f *facts, s *signals, argv []string) (string, error) {
	known, err := l.askEngine(ctx, client)
	if err != nil {
		return "", err
	}
	decision, err := planner.Decide(planner.Input{
		Payload: l.payload,
		Image:   plan.Image{Ref: images.Cage, Reason: "npm is in it"},
		// With nothing of the host's in the box, any user will do.
		Options: &face.Options{
			Engine: plan.None, Exec: true, Args: argv, Network: l.options.Network, User: &face.User{UID: anybody, GID: anybody},
		},
		Caller:    f.caller,
		Project:   f.caller.Home,
		Environ:   l.sys.Environ,
		Engine:    planner.Engine{Host: known.host()},
		ReadState: l.stateReader(f),
		Random:    lifecycle.Random(),
	})
	if err != nil {
		return "", err
	}
	decision.Plan.Mounts, decision.Plan.Project.WorkDir = nil, "/"
	l.identify(f)
	l.own(decision.Plan)
	reader, writer, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer reader.Close()
	output := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(reader, maxAnswer))
		output <- string(text)
	}()
	asker := *l
	asker.sys.Stdout = writer
	b := &box{launcher: &asker, engine: client, decision: decision, facts: f, signals: s}
	status, err := b.live(ctx, func() {})
	writer.Close()
	text := <-output
	if err == nil && status != 0 {
		err = exitstatus.Faultf(exitstatus.ImageMissing, "npm ended with status %d: see the lines above", status)
	}
	return text, err
}
