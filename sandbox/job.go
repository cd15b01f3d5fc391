//go:build linux

package sandbox

import (
	"os"
	"os/signal"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// job is bubblewrap and everything below it: a process group of its own, so
// that nothing in the cage can signal a process outside by its group. To the
// caller's shell sbox and the job look like one process: signals go through,
// the terminal is handed on, a stop stops both.
type job struct {
	pid     int
	tty     *os.File // the controlling terminal; nil if there is none
	report  report
	signals chan os.Signal
	done    chan struct{}

	mu        sync.Mutex
	granted   bool // the terminal is the job's
	held      bool // and was until the end
	forwarded map[syscall.Signal]bool
}

// passed are the signals that go on to the command.
var passed = []os.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGWINCH, unix.SIGTSTP,
	unix.SIGIO, unix.SIGPWR, unix.SIGVTALRM, unix.SIGXCPU, unix.SIGXFSZ,
}

// neverBlocked are signals that bubblewrap must not have blocked: those that
// stop and continue a job, those it waits for, and its own faults.
var neverBlocked = []syscall.Signal{
	unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT, unix.SIGCHLD, unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL,
	unix.SIGTRAP, unix.SIGABRT, unix.SIGSYS,
}

func newJob() *job {
	j := &job{signals: make(chan os.Signal, 64), done: make(chan struct{}), forwarded: map[syscall.Signal]bool{}}
	if fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0); err == nil {
		j.tty = os.NewFile(uintptr(fd), "/dev/tty")
	}
	return j
}

func (j *job) close() {
	if j.tty != nil {
		j.tty.Close()
	}
}

// blockedSignals is the mask of this thread.
func blockedSignals() uint64 {
	var set unix.Sigset_t
	if unix.PthreadSigmask(unix.SIG_BLOCK, nil, &set) != nil {
		return 0
	}
	return uint64(set.Val[0])
}

// blockSignals blocks what bubblewrap must not die of in this thread, and
// returns the mask that it had.
func blockSignals() (old unix.Sigset_t, err error) {
	var all unix.Sigset_t
	all.Val[0] = ^all.Val[0]
	for _, s := range neverBlocked {
		all.Val[0] &^= 1 << (uint(s) - 1)
	}
	err = unix.PthreadSigmask(unix.SIG_SETMASK, &all, &old)
	return old, err
}

// start starts bubblewrap with nearly all signals blocked: bubblewrap would
// die of a Ctrl-C that the command handles. The command's starter takes the
// block away again.
func (j *job) start(path string, f *descriptors) error {
	runtime.LockOSThread()
	j.report.fd = f.status
	for _, s := range passed {
		if !signal.Ignored(s) {
			signal.Notify(j.signals, s)
		}
	}
	fds := make([]uintptr, len(f.files))
	for i, file := range f.files {
		fds[i] = file.Fd()
	}
	old, err := blockSignals()
	if err != nil {
		return err
	}
	restore := firstToGo()
	pid, err := syscall.ForkExec(path, f.argv, &syscall.ProcAttr{
		Files: fds,
		Env:   []string{},
		Sys:   processAttributes(),
	})
	restore()
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	if err != nil {
		return err
	}
	j.pid = pid
	// A job that reads and writes the terminal gets it at once; one that
	// only might, when it asks.
	if isTerminal(0) && isTerminal(1) {
		j.grant()
	}
	go j.forward()
	return nil
}

// firstToGo makes what is started from now on the first victim when memory is
// short, until restore is called: the cage inherits it, whose own /proc may be
// read-only. Failing is no harm: it then is no earlier victim than others.
func firstToGo() (restore func()) {
	const file = "/proc/self/oom_score_adj"
	was := readSmall(file, 16)
	if len(was) == 0 || os.WriteFile(file, []byte("1000"), 0) != nil {
		return func() {}
	}
	return func() { _ = os.WriteFile(file, was, 0) }
}

// processAttributes gives bubblewrap a process group, and a mount namespace
// into which nothing propagates: bubblewrap would let what is mounted outside
// later appear inside, writable. Only root can have one without a user
// namespace around it.
func processAttributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Unshareflags: unix.CLONE_NEWNS}
	if !hasSysAdmin() {
		attr.Unshareflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		attr.AmbientCaps = stageCapabilities
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

func hasSysAdmin() bool {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&hdr, &data[0]) != nil {
		return false
	}
	return data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// forward passes on what this process is sent, until the job ends.
func (j *job) forward() {
	for {
		select {
		case <-j.done:
			return
		case s := <-j.signals:
			sig, ok := s.(syscall.Signal)
			if !ok {
				continue
			}
			if sig == unix.SIGTSTP {
				// To the whole job: bubblewrap stops with it, which is
				// how the wait loop learns of it.
				unix.Kill(-j.pid, unix.SIGTSTP)
				continue
			}
			j.mu.Lock()
			j.forwarded[sig] = true
			j.mu.Unlock()
			j.send(sig)
		}
	}
}

// send signals the command itself, which may not be there yet.
func (j *job) send(sig syscall.Signal) {
	for range 2000 {
		if pid := j.command(); pid > 0 {
			unix.Kill(pid, sig)
			return
		}
		select {
		case <-j.done:
			return
		case <-time.After(time.Millisecond):
		}
	}
	unix.Kill(j.pid, unix.SIGKILL)
}

// command returns the command's process: the first child of the cage's
// process 1, which is bubblewrap's own.
func (j *job) command() int {
	j.mu.Lock()
	init := j.report.child()
	j.mu.Unlock()
	if init == 0 {
		return 0
	}
	data, err := os.ReadFile("/proc/" + strconv.Itoa(init) + "/task/" + strconv.Itoa(init) + "/children")
	if err != nil {
		return childByParent(init)
	}
	fields := strings.Fields(string(data))
	if len(fields) == 0 {
		return 0
	}
	pid, _ := strconv.Atoi(fields[0])
	return pid
}

// childByParent finds the oldest child of a process where the kernel does not
// list children.
func childByParent(parent int) int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	sort.Ints(pids)
	for _, pid := range pids {
		data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue
		}
		s := string(data)
		f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
		if len(f) > 1 && f[1] == strconv.Itoa(parent) {
			return pid
		}
	}
	return 0
}

// wait waits for bubblewrap, and stops and continues with it.
func (j *job) wait() (unix.WaitStatus, error) {
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(j.pid, &ws, unix.WUNTRACED, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || !ws.Stopped() {
			close(j.done)
			signal.Stop(j.signals)
			j.held = j.isGranted()
			j.takeBack()
			return ws, err
		}
		j.stopped(ws.StopSignal())
	}
}

// asked reports whether a signal that ended the job before the command had
// started came from the caller or his terminal.
func (j *job) asked(sig syscall.Signal) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.forwarded[sig] || j.tty != nil && (sig == unix.SIGINT || sig == unix.SIGQUIT || sig == unix.SIGHUP)
}

// result says how the command ended, and whether sbox is to die of the same
// signal. A status over 128 may be the command's own: only for a signal that
// was passed on, or one of the terminal's, is it taken for a death.
func (j *job) result(status int) Result {
	r := Result{Status: status}
	sig := syscall.Signal(status - 128)
	j.mu.Lock()
	defer j.mu.Unlock()
	if status > 128 && status < 128+65 && (j.forwarded[sig] || j.tty != nil && (sig == unix.SIGINT || sig == unix.SIGQUIT)) {
		r.Signal = sig
		r.ToGroup = j.held && (sig == unix.SIGINT || sig == unix.SIGQUIT)
	}
	return r
}
