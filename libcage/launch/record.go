package launch

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/internal/version"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/receipt"
)

// record is what the receipt of a run is made of. One that was not begun, as
// that of a dry run, leaves none.
type record struct {
	mu      sync.Mutex
	receipt receipt.Receipt
	env     []string
	begun   bool
	phase   string
	since   time.Time
}

// enter ends the phase that the run is in and begins another. It may be called
// by several goroutines.
func (l *launcher) enter(phase string) {
	r := l.record
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.phase == "" {
		r.receipt.Started, r.env = now, l.sys.Environ
	} else {
		took := now.Sub(r.since)
		r.receipt.Phases = append(r.receipt.Phases, receipt.Phase{Name: r.phase, Seconds: took.Seconds()})
		l.say.debug("phase %s: %v", r.phase, took.Round(time.Microsecond))
	}
	r.phase, r.since = phase, now
}

// met notes what the engine said of itself.
func (r *record) met(f engineFacts) {
	r.receipt.Engine.ID = f.ID
	r.receipt.Versions.Engine, r.receipt.Versions.Kernel = f.Version, f.Kernel
}

// reached notes how the engine was spoken with, when that is over.
func (r *record) reached(client *engine.Client) {
	r.receipt.Engine.Endpoint, r.receipt.Engine.Source = client.Endpoint().String(), client.Endpoint().Source
	r.receipt.Versions.API = client.APIVersion()
}

// signalled notes the last signal that the launcher was sent.
func (r *record) signalled(sig os.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n, ok := sig.(syscall.Signal); ok {
		r.receipt.Exit.Signal = unix.SignalName(n)
	}
}

// snapshot is the receipt as it is; what runs beside the launcher may still add
// to the record.
func (r *record) snapshot() receipt.Receipt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.receipt
}

// moved notes what the box has moved over the network so far.
func (r *record) moved(n receipt.Network) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.receipt.Network = &n
}

// leaveReceipt writes the receipt of a run that has ended. A run is not worse
// for the want of one.
func (l *launcher) leaveReceipt(status int, fault *exitstatus.Fault) {
	if !l.record.begun {
		return
	}
	l.enter("exit")
	var cause interrupted
	if fault != nil && errors.As(fault, &cause) {
		l.record.signalled(cause.signal)
	}
	r := l.record.snapshot()
	r.Ended = time.Now()
	r.Versions.Launcher, r.Versions.Harness = version.String(), l.harness()
	r.Exit.Status = status
	if fault != nil {
		r.Exit.Fault = &receipt.Fault{Kind: string(fault.Kind), Detail: fault.Error()}
	}
	r.Hide(l.record.env)
	if _, err := (receipt.Store{Dir: receipt.Dir(l.stateHome())}).Write(r); err != nil {
		l.say.warn(fmt.Sprintf("no receipt of this run: %v", err))
	}
}
