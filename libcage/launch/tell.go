package launch

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/receipt"
	"github.com/agent-cage/agent-cage/libcage/show"
)

// maxListing bounds how much of the state directory is told, in entries.
const maxListing = 200

// tell prints the plan and the content of the state mount for one who looks
// for a fault. Both have names and no values; the names in the state mount are
// the box's to choose.
func (l *launcher) tell(f *facts, p *plan.Plan) {
	if !l.say.debugging {
		return
	}
	// A caller may have expanded a secret into an argument.
	told := receipt.Receipt{Plan: p}
	told.Hide(l.sys.Environ)
	var text strings.Builder
	if err := show.People(&text, told.Plan); err != nil {
		l.say.debug("plan: %v", err)
	}
	for line := range strings.Lines(text.String()) {
		l.say.debug("plan: %s", strings.TrimRight(line, " \n"))
	}
	dir := filepath.Join(f.caller.Home, l.payload.State.Host)
	entries, err := os.ReadDir(dir)
	if err != nil {
		l.say.debug("state mount %s: %v", dir, err)
		return
	}
	l.say.debug("state mount %s: %d entries", dir, len(entries))
	for _, e := range entries[:min(len(entries), maxListing)] {
		if info, err := e.Info(); err == nil {
			l.say.debug("state mount: %v %d %s %q", info.Mode(), info.Size(), info.ModTime().UTC().Format(time.RFC3339), e.Name())
		}
	}
}
