package lifecycle

import (
	"errors"
	"time"
)

// Verdict is what can be known of the launcher of a box.
type Verdict string

// The verdicts.
const (
	// Alive is a launcher that runs, or that is stopped and may run again.
	Alive Verdict = "alive"
	// Dead is a launcher that has ended and cannot come back.
	Dead Verdict = "dead"
	// Unknown is one that cannot be judged from here: another user's, another
	// machine's, or one whose process is not visible. Its box is left alone.
	Unknown Verdict = "unknown"
)

// ErrNoProcess is the error of a pid that no living process has.
var ErrNoProcess = errors.New("no such process")

// Host is what a launcher's process is known by where it runs.
type Host struct {
	// Self is the calling process.
	Self Launcher
	// BootTime is when the machine was booted.
	BootTime time.Time
	// StartOf returns Launcher.Start of a process. The error is ErrNoProcess
	// if there is none with that pid, also if it has ended and its parent has
	// not taken note; any other error means that one cannot know.
	StartOf func(pid int) (string, error)
}

// Judge says whether the launcher of a box lives. It never says Dead of a
// launcher that does.
func (h *Host) Judge(l Launcher, running bool, created time.Time) Verdict {
	self := h.Self
	switch {
	case l.UID != self.UID, l.Machine != self.Machine:
		return Unknown
	case l.Boot != self.Boot:
		return h.judgeOtherBoot(running, created)
	case l.PIDNamespace != self.PIDNamespace:
		return Unknown
	}
	start, err := h.StartOf(l.PID)
	switch {
	case errors.Is(err, ErrNoProcess):
		return Dead
	case err != nil:
		return Unknown
	case start != l.Start:
		return Dead // the pid is another process's now
	}
	return Alive
}

// judgeOtherBoot is for a box of this machine id and of another boot: most
// likely an earlier one's. But machines that were cloned share their id and
// may share an engine. A clone's box shows by being younger than this boot, or
// by running: no box does for long without its launcher.
func (h *Host) judgeOtherBoot(running bool, created time.Time) Verdict {
	if h.Self.Machine == "" || running || !created.Before(h.BootTime) {
		return Unknown
	}
	return Dead
}
