package boxinit

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// reaper is the one place that waits for processes: a second wait would take
// statuses away from it.
type reaper struct {
	mu      sync.Mutex
	watched map[int]chan unix.WaitStatus
	// started wakes the loop when there is a child again.
	started chan struct{}
}

func newReaper() *reaper {
	return &reaper{
		watched: map[int]chan unix.WaitStatus{},
		started: make(chan struct{}, 1),
	}
}

// start forks and executes path. The channel receives each stop of the child,
// and last its end.
func (r *reaper) start(path string, argv []string, attr *syscall.ProcAttr) (int, <-chan unix.WaitStatus, error) {
	r.mu.Lock() // until the child is watched, its end must not be reaped
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return 0, nil, err
	}
	changes := make(chan unix.WaitStatus, 8)
	r.watched[pid] = changes
	select {
	case r.started <- struct{}{}:
	default:
	}
	return pid, changes, nil
}

// loop reaps for ever.
func (r *reaper) loop() {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WUNTRACED, nil)
		switch err {
		case nil:
			r.deliver(pid, ws)
		case unix.ECHILD:
			<-r.started
		}
	}
}

func (r *reaper) deliver(pid int, ws unix.WaitStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changes, ok := r.watched[pid]
	if !ok {
		return
	}
	if !ws.Stopped() {
		delete(r.watched, pid)
		changes <- ws
		return
	}
	select {
	case changes <- ws:
	default: // one of the stops in the channel stands for this one too
	}
}
