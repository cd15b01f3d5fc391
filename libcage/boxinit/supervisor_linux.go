package boxinit

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/handshake"
)

const (
	// lifelineDue is how long after its start a box lives without a lifeline.
	lifelineDue = needs.LifelineWithin
	// grace is how long the harness may take to end after TERM.
	grace = 2 * time.Second
)

// statusKilled is the status of a box that ended itself: 128 + SIGKILL.
const statusKilled = 128 + int(unix.SIGKILL)

// supervisor is PID 1 after its start: it owns the decision how the box ends.
type supervisor struct {
	box  *box
	due  <-chan time.Time
	line *lifeline
}

func newSupervisor(started time.Time, stdin *os.File, stdout io.Writer) *supervisor {
	return &supervisor{
		box: &box{
			root:    "/",
			stdin:   stdin,
			say:     handshake.NewBox(stdout),
			reap:    newReaper(),
			signals: make(chan os.Signal, 64),
		},
		due:  time.After(time.Until(started.Add(lifelineDue))),
		line: newLifeline(),
	}
}

// run serves the box to its end and returns its status.
func (s *supervisor) run() int {
	signal.Notify(s.box.signals, forwarded()...)
	if err := s.line.listen(lifelineSocket); err != nil {
		return s.fail(exitstatus.Faultf(exitstatus.EngineStartFailed, "the box cannot listen for its lifeline: %w", err))
	}
	go s.box.reap.loop()

	prepared := make(chan error, 1)
	go func() { prepared <- s.box.prepare() }()

	var (
		harness *stage // nil until it has been let go
		changes <-chan unix.WaitStatus
		killAt  <-chan time.Time
		due     = s.due
	)
	for {
		select {
		case err := <-prepared:
			if err != nil {
				return s.fail(err)
			}
			harness = s.box.harness
			changes = harness.changes
		case ws := <-changes:
			if ws.Stopped() {
				// The harness leads its session, so nobody else continues it.
				unix.Kill(-harness.pid, unix.SIGCONT)
				continue
			}
			if fault := harness.execFault(); fault != nil {
				_ = s.box.say.ExecFailed(s.box.run.Nonce, fault)
				return fault.Kind.Status()
			}
			return statusOf(ws)
		case sig := <-s.box.signals:
			n := sig.(syscall.Signal)
			if harness != nil {
				unix.Kill(harness.pid, n)
			} else if endsStart(n) {
				return 128 + int(n)
			}
		case <-s.line.held:
			due = nil
			s.line.held = nil
		case <-due:
			if !s.box.answered.Load() {
				s.fail(exitstatus.Faultf(exitstatus.EngineStartFailed,
					"no launcher has sent a run to the box within %v; boxes are started by their launchers", lifelineDue))
			}
			return killAll()
		case <-s.line.lost:
			s.line.lost = nil
			if harness == nil {
				return killAll()
			}
			unix.Kill(-harness.pid, unix.SIGTERM)
			unix.Kill(-harness.pid, unix.SIGCONT)
			killAt = time.After(grace)
		case <-killAt:
			return killAll()
		}
	}
}

// fail tells the launcher why the harness does not start.
func (s *supervisor) fail(err error) int {
	fault := exitstatus.AsFault(exitstatus.EngineStartFailed, err)
	if errors.Is(err, errNoLauncher) {
		return fault.Kind.Status()
	}
	_ = s.box.say.Fault(fault)
	return fault.Kind.Status()
}

// killAll ends every process of the box, those that fork without end included:
// the call reaches all of them at once, and the kernel lets none be made when
// PID 1 then ends.
func killAll() int {
	unix.Kill(-1, unix.SIGKILL)
	return statusKilled
}

func statusOf(ws unix.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// forwarded are the signals that are passed on to the harness: all that a
// process can be sent on purpose. CHLD, URG and PIPE are PID 1's own, the
// stops of a terminal mean nothing outside its session, the faults of a
// program are not sent, and Go leaves 32 to 34 to the C library.
func forwarded() []os.Signal {
	list := []os.Signal{
		unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM,
		unix.SIGTERM, unix.SIGCONT, unix.SIGWINCH, unix.SIGIO, unix.SIGPWR,
	}
	const rtMin, rtMax = 35, 64
	for n := rtMin; n <= rtMax; n++ {
		list = append(list, syscall.Signal(n))
	}
	return list
}

// endsStart reports whether a signal ends a box whose harness does not run yet.
func endsStart(n syscall.Signal) bool {
	switch n {
	case unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM:
		return true
	}
	return false
}
