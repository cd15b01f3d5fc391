//go:build linux

package sandbox

import (
	"bytes"
	"encoding/json"

	"golang.org/x/sys/unix"
)

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
