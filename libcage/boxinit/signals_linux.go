package boxinit

import (
	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/sigaction"
)

// lastSignal is the highest signal that the kernel has.
const lastSignal = 64

// defaultIgnored gives signals that are ignored their default action again.
// What is ignored is inherited through execve, from the engine's own parents
// too. Handlers need nothing: they end with execve.
func defaultIgnored() error {
	for sig := unix.Signal(1); sig <= lastSignal; sig++ {
		now, err := sigaction.Get(sig)
		if err != nil || now.Handler != sigaction.Ignored {
			continue
		}
		if err := sigaction.Set(sig, sigaction.Action{}); err != nil {
			return err
		}
	}
	return nil
}
