//go:build linux

package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
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
	path, argv := m.Bubblewrap.Path, files.argv
	for _, mt := range d.Mounts {
		if mt.Kind == Overlay && mt.Early {
			path, argv = m.Exe, stageArgs(mt, m.refusals(), path, argv)
			files.ambient = overlayCapabilities
		}
	}
	if err := j.start(path, argv, files); err != nil {
		return Result{}, &RefusedError{Cause: m.Bubblewrap.Path + " cannot be started", Fix: fixInstall, Err: err}
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

// descriptors are bubblewrap's, in the order of their numbers.
type descriptors struct {
	argv   []string
	files  []*os.File // 0 and up
	stderr *os.File   // memory file that takes bubblewrap's own words
	status int        // the end of the status pipe that sbox reads; never waits
	own    []*os.File // to be closed by sbox
	// ambient are capabilities of the first program in its own user namespace.
	ambient []uintptr
}

func (f *descriptors) add(file *os.File) string {
	f.files = append(f.files, file)
	return strconv.Itoa(len(f.files) - 1)
}

// memory returns a memory file with the content, to be read from its start.
func (f *descriptors) memory(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	f.own = append(f.own, file)
	if _, err := file.WriteAt(data, 0); err != nil {
		return nil, err
	}
	return file, nil
}

func (m *Machine) descriptors(d *Description, o Options) (*descriptors, error) {
	f := &descriptors{}
	ok := false
	defer func() {
		if !ok {
			f.close()
		}
	}()
	var err error
	if f.stderr, err = f.memory("bubblewrap", nil); err != nil {
		return nil, err
	}
	f.files = []*os.File{os.Stdin, os.Stdout, f.stderr}

	args := append([]string(nil), d.Arguments()...)
	if m.Slot != nil && m.Slot.lock != nil {
		args = append(args, "--sync-fd", f.add(m.Slot.lock))
	}
	filter, err := Filter(o.AllowUserns)
	if err != nil {
		return nil, err
	}
	seccomp, err := f.memory("seccomp", filter)
	if err != nil {
		return nil, err
	}
	args = append(args, "--seccomp", f.add(seccomp))
	if len(d.Placeholders) > 0 {
		ignore, err := f.memory("ignore", m.ignoreFile(d))
		if err != nil {
			return nil, err
		}
		args = append(args, "--ro-bind-data", f.add(ignore), ignorePath)
	}
	w, err := f.statusPipe()
	if err != nil {
		return nil, err
	}
	args = append(args, "--json-status-fd", f.add(w))

	ord := m.order(d, o)
	ord.Stderr, _ = strconv.Atoi(f.add(os.Stderr))
	orders, err := f.memory("order", ord.encode())
	if err != nil {
		return nil, err
	}
	orderFD := f.add(orders)
	options, err := f.memory("options", []byte(strings.Join(args, "\x00")+"\x00"))
	if err != nil {
		return nil, err
	}
	f.argv = []string{"bwrap", "--args", f.add(options), "--", startPath, orderFD}
	ok = true
	return f, nil
}

// statusPipe returns the end that bubblewrap writes. The other one is no
// os.File, which would be switched to waiting whenever its number is asked for.
func (f *descriptors) statusPipe() (*os.File, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	f.status = p[0]
	w := os.NewFile(uintptr(p[1]), "status")
	f.own = append(f.own, w)
	return w, unix.SetNonblock(p[0], true)
}

func (f *descriptors) close() {
	if f.status > 0 {
		unix.Close(f.status)
	}
	for _, file := range f.own {
		file.Close()
	}
}

// complaint is what bubblewrap itself had to say.
func (f *descriptors) complaint() string {
	data, err := io.ReadAll(io.NewSectionReader(f.stderr, 0, 4096))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	return strings.TrimPrefix(line, "bwrap: ")
}

// order is what the command's starter is told.
func (m *Machine) order(d *Description, o Options) *order {
	env, _ := m.commandEnv(d, o.KeepEnv)
	ord := &order{Mask: blockedSignals(), Dir: d.Dir, Args: d.Command, Env: env}
	for _, mt := range d.Mounts {
		switch mt.Kind {
		case Writable, Pin, Overlay, Empty, HideDir, HideFile, Device:
			ord.Writable = append(ord.Writable, mt.Target)
		}
		if !mt.Checked {
			continue
		}
		var st unix.Stat_t
		if unix.Lstat(mt.Source, &st) == nil {
			ord.Checks = append(ord.Checks, check{Path: mt.Target, Dev: uint64(st.Dev), Ino: st.Ino})
		}
	}
	return ord
}

// report reads bubblewrap's status documents.
type report struct {
	fd   int
	data []byte
}

type statusDocument struct {
	ChildPID *int `json:"child-pid"`
	ExitCode *int `json:"exit-code"`
}

// exit returns the command's status. It is there only if bubblewrap came as
// far as to start it.
func (r *report) exit() (int, bool) {
	r.read()
	status, ok := 0, false
	r.each(func(d statusDocument) {
		if d.ExitCode != nil {
			status, ok = *d.ExitCode, true
		}
	})
	return status, ok
}

// child returns the process that is 1 inside; 0 if it is not known yet.
func (r *report) child() int {
	r.read()
	pid := 0
	r.each(func(d statusDocument) {
		if d.ChildPID != nil {
			pid = *d.ChildPID
		}
	})
	return pid
}

func (r *report) read() {
	buf := make([]byte, 4096)
	for {
		n, err := unix.Read(r.fd, buf)
		if n <= 0 || err != nil {
			return
		}
		r.data = append(r.data, buf[:n]...)
	}
}

func (r *report) each(f func(statusDocument)) {
	dec := json.NewDecoder(bytes.NewReader(r.data))
	for {
		var d statusDocument
		if err := dec.Decode(&d); err != nil {
			return
		}
		f(d)
	}
}

// explain turns bubblewrap's failure into cause and fix.
func (m *Machine) explain(complaint string, ws unix.WaitStatus) error {
	if complaint == "" && ws.Signaled() {
		return refusedf("", "bubblewrap was killed (%v) before the command started", ws.Signal())
	}
	if c := diagnose(complaint); c != nil {
		return c
	}
	if complaint == "" {
		complaint = fmt.Sprintf("it exited with status %d", ws.ExitStatus())
	}
	return &RefusedError{Cause: "bubblewrap cannot build the cage", Err: errors.New(complaint), Fix: "see sbox --doctor"}
}
