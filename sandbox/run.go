//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/zone"
)

// Result is how a command in the cage ended.
type Result struct {
	// Status is the command's exit status, or 128 and the number of the
	// signal it died of.
	Status int
	// Signal is the signal that the caller should die of too; 0 if the
	// command exited by itself.
	Signal syscall.Signal
	// ToGroup says that the signal came from the terminal, which only the
	// job had: the caller's script is to get it as well.
	ToGroup bool
}

// Run builds the cage and runs the command in it. It must be called on the
// main thread: signals and the terminal are handed over by it. What had to be
// undone is said on errw. Its errors are of type RefusedError: the command
// has not run.
func Run(m *Machine, o Options, errw io.Writer) (Result, error) {
	// None of the caller's descriptors but the first three gets in.
	if err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		closeFrom(3)
	}
	r, err := m.run(o, errw)
	// What others do in the zone may take away a path between plan and mount.
	// A plan made again does not have it; one that fails so too is refused.
	if gone := (*vanishedError)(nil); errors.As(err, &gone) {
		r, err = m.run(o, errw)
	}
	return r, err
}

// vanishedError is bubblewrap's complaint about a planned path that was gone.
type vanishedError struct{ complaint string }

func (e *vanishedError) Error() string { return e.complaint }

// run plans a cage and runs the command in it.
func (m *Machine) run(o Options, errw io.Writer) (Result, error) {
	if m.Zone.Cache != zone.CacheShared && m.isRoot(m.Zone.CacheDir()) {
		var err error
		if m.Slot, err = m.takeSlot(); err != nil {
			return Result{}, &RefusedError{Cause: "~/.cache: no layer can be made for the cage", Fix: "make " + m.StateDir + " writable", Err: err}
		}
		defer m.Slot.lock.Close()
	}
	m.sweep()
	var h *hold
	m.entered = func(project string) (map[string]bool, error) {
		var err error
		if h, err = m.enter(project); err != nil {
			return nil, err
		}
		return h.names, nil
	}
	d, err := Describe(m, o)
	defer func() { h.release() }()
	if err != nil {
		return Result{}, err
	}
	if err := m.place(d, h); err != nil {
		return Result{}, &RefusedError{Cause: "placeholders cannot be made", Err: err}
	}
	before := snapshot(d.Watches)
	defer before.close()

	guard, err := guardGit(d.Git)
	if err != nil {
		return Result{}, err
	}
	r, err := m.start(d, o)
	for _, line := range append(before.compare(), guard.compare()...) {
		fmt.Fprintln(errw, "sbox:", oneLine(line))
	}
	return r, err
}

// oneLine keeps names that the command chose from writing to the terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}

// place makes what the description holds. What cannot be made there, the cage
// could not make either, and its mount is left out.
func (m *Machine) place(d *Description, h *hold) error {
	for _, p := range d.Placeholders {
		if p.Kept {
			// As its own program would make it, which it stays for.
			if err := os.Mkdir(p.Path, 0o700); err != nil && !os.IsExist(err) {
				return err
			}
		}
	}
	if h == nil {
		return nil
	}
	failed, err := h.create(d.Placeholders)
	if err != nil {
		return err
	}
	d.Mounts = slices.DeleteFunc(d.Mounts, func(mt Mount) bool { return failed[mt.Target] })
	return nil
}

// start runs bubblewrap and waits for its end.
func (m *Machine) start(d *Description, o Options) (Result, error) {
	files, err := m.descriptors(d, o)
	if err != nil {
		return Result{}, &RefusedError{Cause: "the cage cannot be described to bubblewrap", Err: err}
	}
	defer files.close()
	j := newJob()
	defer j.close()
	if err := os.MkdirAll(m.stageRoot(), 0o700); err != nil {
		return Result{}, &RefusedError{Cause: "the cage has no place to be built", Fix: "make " + m.StateDir + " writable", Err: err}
	}
	if err := j.start(m.Exe, files); err != nil {
		if c := diagnose(err.Error(), readKernel()); c != nil {
			return Result{}, c
		}
		return Result{}, &RefusedError{Cause: "no namespace can be made for the cage", Fix: "see sbox --doctor", Err: err}
	}
	ws, err := j.wait()
	if err != nil {
		return Result{}, &RefusedError{Cause: "lost bubblewrap", Err: err}
	}
	status, ran := j.report.exit()
	if !ran && ws.Signaled() && j.asked(ws.Signal()) {
		return Result{Status: 128 + int(ws.Signal()), Signal: ws.Signal()}, nil
	}
	if !ran {
		return Result{}, m.explain(files.complaint(), ws)
	}
	return j.result(status), nil
}

// explain turns bubblewrap's failure into cause and fix.
func (m *Machine) explain(complaint string, ws unix.WaitStatus) error {
	if complaint == "" && ws.Signaled() {
		return refusedf("", "bubblewrap was killed (%v) before the command started", ws.Signal())
	}
	if p, ok := strings.CutPrefix(complaint, complaintChanged); ok {
		return changedError(p)
	}
	if strings.HasPrefix(complaint, complaintVanished) || strings.HasPrefix(complaint, "Can't find source path") && strings.HasSuffix(complaint, ": No such file or directory") {
		return &RefusedError{Cause: "a path vanished while the cage was being built", Fix: "run it again", Err: &vanishedError{complaint}}
	}
	if c := diagnose(complaint, readKernel()); c != nil {
		return c
	}
	if complaint == "" {
		complaint = fmt.Sprintf("it exited with status %d", ws.ExitStatus())
	}
	return &RefusedError{Cause: "bubblewrap cannot build the cage", Err: errors.New(complaint), Fix: "see sbox --doctor"}
}
