package boxinit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/agent-cage/agent-cage/libcage/cabundle"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/handshake"
)

// errNoLauncher is the error of a launcher that went away in the handshake:
// there is nobody to tell.
var errNoLauncher = errors.New("the launcher has gone")

// box is what the phases know and make, in their order.
type box struct {
	// root is the directory that stands for /.
	root    string
	stdin   *os.File
	say     *handshake.Box
	reap    *reaper
	signals chan os.Signal

	// answered says that a launcher has sent the run.
	answered atomic.Bool

	terminal *terminal // nil without one
	run      *handshake.Run
	// callerIDs own the caller's files as the box sees them before it shows
	// them with another owner; harnessIDs are the harness's, outside of its own
	// user namespace.
	callerIDs, harnessIDs ids
	mounts                mountTable
	account               account
	// systemTrust is the image's file of certificates, trusted what it holds.
	systemTrust []byte
	trusted     cabundle.Bundle
	trust       []string // variables that name the CA bundle
	harness     *stage
}

// phase is a step between the start of the box and that of the harness.
type phase struct {
	name string
	do   func(*box) error
}

// phases returns the steps in the order in which they are taken.
func phases() []phase {
	return []phase{
		{"handshake", (*box).shakeHands},
		{"refuse-socket", (*box).refuseSocket},
		{"identity", (*box).identify},
		{"witness", (*box).compareDirectories},
		{"mounts", (*box).idmapMounts},
		{"user", (*box).makeUser},
		{"zone", (*box).writeZone},
		{"trust-store", (*box).extendTrust},
		{"files", (*box).writeFiles},
		{"devices", (*box).openDevices},
		{"engine", (*box).prepareEngine},
		{"seal", (*box).seal},
		{"harden", (*box).harden},
		{"forgo", (*box).forgo},
		{"exec", (*box).handOver},
	}
}

// prepare takes all steps. The error of one that is not a fault becomes one.
func (b *box) prepare() error {
	for _, p := range phases() {
		start := time.Now()
		if err := p.do(b); err != nil {
			if errors.Is(err, errNoLauncher) {
				return err
			}
			var fault *exitstatus.Fault
			if errors.As(err, &fault) {
				return fault
			}
			return &exitstatus.Fault{Kind: exitstatus.EngineStartFailed, Detail: "cage-init, phase " + p.name, Err: err}
		}
		if b.run.Trace && b.harness == nil {
			_ = b.say.Progress(fmt.Sprintf("phase %s: %v", p.name, time.Since(start).Round(time.Microsecond)))
		}
	}
	return nil
}

// shakeHands receives the run.
func (b *box) shakeHands() error {
	var err error
	if b.terminal, err = openTerminal(b.stdin); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	if err := b.readTrust(); err != nil {
		return err
	}
	if err := b.say.Ready(b.trusted.IDs()); err != nil {
		return errNoLauncher
	}
	run, err := handshake.ReadRun(b.stdin)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errNoLauncher
	case err != nil:
		return err
	}
	b.answered.Store(true)
	if run.Plan.Limits.PidsLimit > 0 {
		useNoMoreThreads()
	}
	if len(run.Argv) == 0 {
		return exitstatus.Faultf(exitstatus.HarnessNotExecutable, "the command is empty")
	}
	if run.Plan.User.UID == 0 || run.Plan.User.GID == 0 {
		return exitstatus.Faultf(exitstatus.EngineStartFailed, "the harness would be root in the box: use --user UID:GID with ids other than 0")
	}
	if b.terminal != nil && run.Size != nil {
		if err := b.terminal.resize(*run.Size); err != nil {
			return fmt.Errorf("terminal size: %w", err)
		}
	}
	b.run = run
	return nil
}

// compareDirectories makes sure that the engine has mounted the launcher's
// directories and not others of the same name. They may be closed to all but
// their owner, who is looked at them as.
func (b *box) compareDirectories() error {
	for _, w := range b.run.Witnesses {
		if err := asUser(b.ownerOf(w.Place()), func() error { return w.Check(filepath.Join(b.root, w.Place())) }); err != nil {
			return &exitstatus.Fault{Kind: exitstatus.EngineStartFailed, Err: err}
		}
	}
	return nil
}

// ownerOf returns who may look into what is mounted at a place, before it is
// shown as the harness's.
func (b *box) ownerOf(place string) ids {
	for _, m := range b.run.Plan.Mounts {
		if m.Target == place && m.Idmap != nil {
			return ids{m.Idmap.UID, m.Idmap.GID}
		}
	}
	return b.callerIDs
}

// harden makes the process that becomes the harness, and waits until all is
// done in it that can be done before execve.
func (b *box) harden() error {
	if err := giveStreams(b.harnessIDs.uid); err != nil {
		return err
	}
	if b.terminal != nil {
		if err := b.terminal.giveUp(b.signals); err != nil {
			return fmt.Errorf("giving up the terminal: %w", err)
		}
	}
	s := spec{
		UID:   b.account.UID,
		GID:   b.account.GID,
		Owner: b.harnessIDs.uid,
		Dir:   b.run.Dir,
		Argv:  b.run.Argv,
		Env:   b.environment(),
	}
	maps, err := b.harnessMaps()
	if err != nil {
		return err
	}
	harness, err := startStage(b.reap, b.terminal != nil, maps, s)
	if err != nil {
		return err
	}
	b.harness = harness
	if err := harness.prepared(); err != nil {
		return err
	}
	return noteHarness(filepath.Join(b.root, harnessFile), harness.pid, s)
}

// handOver gives the streams to the harness and lets it go.
func (b *box) handOver() error {
	if b.terminal != nil {
		if err := b.terminal.restore(); err != nil {
			return fmt.Errorf("restoring the terminal: %w", err)
		}
	}
	if err := b.say.Go(); err != nil {
		return errNoLauncher
	}
	return b.harness.release()
}
