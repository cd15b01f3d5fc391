package launch

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/moby/term"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/pin"
)

// newsDelay is how long after the start of a harness newer versions of it are
// looked for: no run waits for it, and short ones do without.
const newsDelay = 10 * time.Second

// mentionNews tells a person at most once a day of a newer version that an
// earlier run has found.
func (l *launcher) mentionNews() {
	if l.pin == nil || !term.IsTerminal(l.sys.Stderr.Fd()) {
		return
	}
	if v := l.pins().Mention(l.payload.Image.Name, l.pin.Version, time.Now()); v != "" {
		l.say.progress(fmt.Sprintf("%s %s is out, the box has %s: %s --upgrade", l.payload.Title, v, l.pin.Version, l.payload.Label))
	}
}

// lookForNews asks npm in the running box, once a day, for the newest version
// of the harness. Nobody waits for the answer, and none is no problem.
func (k *keeper) lookForNews(ctx context.Context) {
	if k.pin == nil || k.options.Exec || !k.pins().Due(k.payload.Image.Name, time.Now()) {
		return
	}
	select {
	case <-k.started:
	case <-ctx.Done():
		return
	}
	select {
	case <-time.After(newsDelay):
	case <-ctx.Done():
		return
	}
	version, err := k.newest(ctx)
	if err == nil {
		err = k.pins().Note(k.payload.Image.Name, version, time.Now())
	}
	if err != nil {
		k.say.debug("newest version: %v", err)
	}
}

// newest runs npm as nobody that the harness could be.
func (k *keeper) newest(ctx context.Context) (string, error) {
	env := []string{"HOME=/nonexistent", "npm_config_cache=/dev/shm/npm", "NODE_EXTRA_CA_CERTS=" + needs.ExtraCAFile}
	for _, kv := range k.decision.Env {
		if strings.Contains(strings.ToLower(kv), "_proxy=") {
			env = append(env, kv)
		}
	}
	asked, err := k.engine.Exec(ctx, k.id, engine.ExecSpec{
		Argv: pin.Newest(*k.pin), User: needs.Bystander(), Env: env, WorkDir: "/",
	})
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { asked.Close() })()
	defer asked.Close()
	answer := limited{left: maxAnswer}
	err = asked.Copy(&answer, io.Discard)
	return strings.TrimSpace(answer.String()), err
}

// maxAnswer bounds what a box is believed to answer, in bytes.
const maxAnswer = 64 << 10

// limited keeps the first bytes that are written to it.
type limited struct {
	strings.Builder
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n, _ := l.Builder.Write(p[:min(len(p), l.left)]) // never fails
	l.left -= n
	return len(p), nil
}
