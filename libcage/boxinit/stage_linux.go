package boxinit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

// What a stage says on its report pipe: nothing more after stagePrepared if
// the harness runs, since execve closes the pipe.
const (
	stagePrepared = 'P'
	stageFailed   = 'F'
)

// self is this program, whatever its path.
const self = "/proc/self/exe"

// stage is the child that becomes the harness.
type stage struct {
	pid     int
	changes <-chan unix.WaitStatus
	orders  *os.File
	reports *os.File
}

// startStage forks the stage into a session and a user namespace of its own,
// with the terminal on stdin as the session's if there is one, and tells it
// what to become. The namespace, which has the given maps, is there so that the
// harness is foreign to every other process of its user id in the box.
func startStage(reap *reaper, tty bool, maps idMaps, s spec) (*stage, error) {
	ordersOut, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ordersOut.Close()
	reports, reportsIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer reportsIn.Close()
	pid, changes, err := reap.start(self, []string{stageName}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{}, // the harness's environment must not steer the stage
		Files: []uintptr{0, 1, 2, ordersOut.Fd(), reportsIn.Fd()},
		Sys: &syscall.SysProcAttr{
			Setsid:                     true,
			Setctty:                    tty,
			Cloneflags:                 unix.CLONE_NEWUSER,
			UidMappings:                maps.uids,
			GidMappings:                maps.gids,
			GidMappingsEnableSetgroups: true,
			AmbientCaps:                stageCaps(),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("a process in a user namespace of its own: %w", err)
	}
	st := &stage{pid: pid, changes: changes, orders: orders, reports: reports}
	if _, err := orders.Write(s.encode()); err != nil {
		return nil, fmt.Errorf("the stage does not listen: %w", err)
	}
	return st, nil
}

// prepared waits until the stage has nothing left to do but execve.
func (st *stage) prepared() error {
	var first [1]byte
	if _, err := io.ReadFull(st.reports, first[:]); err != nil {
		return errors.New("the stage ended before the harness was prepared")
	}
	if first[0] == stagePrepared {
		return nil
	}
	return st.readFault()
}

// release lets the stage execute the harness.
func (st *stage) release() error {
	defer st.orders.Close()
	_, err := st.orders.Write([]byte{stagePrepared})
	return err
}

// execFault returns why execve failed, or nil if it did not. It returns once
// the stage is over or has become the harness.
func (st *stage) execFault() *exitstatus.Fault {
	var first [1]byte
	if n, _ := st.reports.Read(first[:]); n == 0 {
		return nil
	}
	return st.readFault()
}

func (st *stage) readFault() *exitstatus.Fault {
	rest, _ := io.ReadAll(io.LimitReader(st.reports, 64<<10))
	kind, detail, _ := strings.Cut(string(rest), "\x00")
	return &exitstatus.Fault{Kind: exitstatus.Kind(kind), Detail: detail}
}

// spec is what a stage becomes.
type spec struct {
	// UID and GID are ids of the harness's user namespace, Owner is what UID is
	// outside of it, in the box's.
	UID, GID, Owner uint32
	Dir             string
	Argv            []string
	Env             []string
}

// encode is the length of what follows as a decimal and NUL, then strings that
// each end with NUL, which none of them can hold.
func (s spec) encode() []byte {
	var body bytes.Buffer
	put := func(v string) {
		body.WriteString(v)
		body.WriteByte(0)
	}
	put(strconv.FormatUint(uint64(s.UID), 10))
	put(strconv.FormatUint(uint64(s.GID), 10))
	put(strconv.FormatUint(uint64(s.Owner), 10))
	put(s.Dir)
	put(strconv.Itoa(len(s.Argv)))
	for _, v := range s.Argv {
		put(v)
	}
	for _, v := range s.Env {
		put(v)
	}
	return append([]byte(strconv.Itoa(body.Len())+"\x00"), body.Bytes()...)
}

var errSpec = errors.New("the stage has not understood what to become")

// readSpec reads one spec and not a byte more.
func readSpec(r io.Reader) (spec, error) {
	size, err := readField(r)
	if err != nil {
		return spec{}, err
	}
	n, err := strconv.Atoi(size)
	if err != nil || n < 1 {
		return spec{}, errSpec
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return spec{}, err
	}
	return parseSpec(strings.Split(string(body[:n-1]), "\x00"))
}

// readField reads up to a NUL and not a byte more.
func readField(r io.Reader) (string, error) {
	var field []byte
	for c := make([]byte, 1); ; {
		if _, err := io.ReadFull(r, c); err != nil {
			return "", err
		}
		if c[0] == 0 {
			return string(field), nil
		}
		field = append(field, c[0])
	}
}

func parseSpec(fields []string) (spec, error) {
	const fixed = 5
	if len(fields) < fixed {
		return spec{}, errSpec
	}
	uid, err1 := strconv.ParseUint(fields[0], 10, 32)
	gid, err2 := strconv.ParseUint(fields[1], 10, 32)
	owner, err3 := strconv.ParseUint(fields[2], 10, 32)
	args, err4 := strconv.Atoi(fields[4])
	rest := fields[fixed:]
	if errors.Join(err1, err2, err3, err4) != nil || args < 1 || args > len(rest) {
		return spec{}, errSpec
	}
	return spec{
		UID: uint32(uid), GID: uint32(gid), Owner: uint32(owner), Dir: fields[3],
		Argv: rest[:args], Env: rest[args:],
	}, nil
}
