package buildkit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/util/progress/progressui"
	"github.com/opencontainers/go-digest"

	"github.com/agent-cage/agent-cage/libcage/image"
)

// display shows the statuses of a build until there are no more and returns
// the build's whole log.
type display func(statuses <-chan *client.SolveStatus) (log string)

func newDisplay(progress image.Progress) (display, error) {
	var log bytes.Buffer
	plain, err := progressui.NewDisplay(&log, progressui.PlainMode)
	if err != nil {
		return nil, err
	}
	show := stepLines(progress.Lines)
	if progress.Terminal != nil {
		terminal, err := progressui.NewDisplay(progress.Terminal, progressui.TtyMode)
		if err != nil {
			return nil, fmt.Errorf("display of the build: %w", err)
		}
		show = showOn(terminal)
	}
	return func(statuses <-chan *client.SolveStatus) string {
		fanOut(statuses, showOn(plain), show)
		return log.String()
	}, nil
}

// consumer shows statuses until there are no more.
type consumer func(statuses chan *client.SolveStatus)

// fanOut gives every consumer every status and returns when all are done.
func fanOut(statuses <-chan *client.SolveStatus, consumers ...consumer) {
	var done sync.WaitGroup
	outlets := make([]chan *client.SolveStatus, len(consumers))
	for i, consume := range consumers {
		outlets[i] = make(chan *client.SolveStatus, 16)
		done.Go(func() { consume(outlets[i]) })
	}
	for status := range statuses {
		for _, outlet := range outlets {
			outlet <- status
		}
	}
	for _, outlet := range outlets {
		close(outlet)
	}
	done.Wait()
}

func showOn(d progressui.Display) consumer {
	return func(statuses chan *client.SolveStatus) {
		// The display ends with the channel: a cancelled build still shows
		// how it ended.
		_, _ = d.UpdateFrom(context.Background(), statuses)
	}
}

// longestStep is where the line of a step is cut, in bytes.
const longestStep = 160

// stepLines prints one line when a step starts, or is found in the cache.
func stepLines(w io.Writer) consumer {
	return func(statuses chan *client.SolveStatus) {
		seen := map[digest.Digest]bool{}
		for status := range statuses {
			for _, step := range status.Vertexes {
				if w == nil || seen[step.Digest] || (step.Started == nil && !step.Cached) || internal(step.Name) {
					continue
				}
				seen[step.Digest] = true
				fmt.Fprintln(w, stepLine(step))
			}
		}
	}
}

// internal reports whether a step is BuildKit's own business.
func internal(name string) bool { return strings.HasPrefix(name, "[internal]") }

func stepLine(step *client.Vertex) string {
	name := strings.Join(strings.Fields(step.Name), " ")
	if len(name) > longestStep {
		name = strings.ToValidUTF8(name[:longestStep], "") + "…"
	}
	if step.Cached {
		name += " (cached)"
	}
	return name
}
