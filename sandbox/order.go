//go:build linux

package sandbox

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"golang.org/x/sys/unix"
)

// order is what sbox tells its other selves: the stage, which mounts, and the
// one inside the finished cage, which looks at it and starts the command. It
// travels in a memory file: an environment handed to bubblewrap itself would
// already act on that, and its own command line has a limit that the kernel's
// does not have.
type order struct {
	// Stderr is the descriptor of the caller's standard error.
	Stderr int
	// Mask are the signals that the caller had blocked.
	Mask uint64
	// Ignored are those that the caller ignores, so that the command does.
	Ignored uint64
	// Dir is where the command starts.
	Dir string
	// Args and Env are the command's.
	Args []string
	Env  []string
	// Mounts are the cage's, in the order in which they are made.
	Mounts []planned
}

// planned is a mount, and the identity of its source where that is Checked.
type planned struct {
	Mount
	Dev, Ino uint64
}

// withIdentity returns the planned mounts with the identity of their sources.
func withIdentity(mounts []Mount) []planned {
	out := make([]planned, len(mounts))
	for i, mt := range mounts {
		out[i].Mount = mt
		var st unix.Stat_t
		if mt.Checked && unix.Lstat(mt.Source, &st) == nil {
			out[i].Dev, out[i].Ino = st.Dev, st.Ino
		}
	}
	return out
}

// is reports whether a file is the one that was planned.
func (m *planned) is(st *unix.Stat_t) bool { return st.Dev == m.Dev && st.Ino == m.Ino }

// writable reports whether a mount of this kind may be written.
func (k Kind) writable() bool {
	switch k {
	case Writable, Pin, Overlay, Empty, HideDir, HideFile, Device:
		return true
	}
	return false
}

// encode writes an order as NUL-terminated fields, each list after its length.
func (o *order) encode() []byte {
	b := make([]byte, 0, 32<<10)
	put := func(ss ...string) {
		for _, s := range ss {
			b = append(append(b, s...), 0)
		}
	}
	number := func(n uint64, base int) { b = append(strconv.AppendUint(b, n, base), 0) }
	list := func(ss []string) {
		number(uint64(len(ss)), 10)
		put(ss...)
	}
	put(strconv.Itoa(o.Stderr))
	number(o.Mask, 16)
	number(o.Ignored, 16)
	put(o.Dir)
	list(o.Args)
	list(o.Env)
	number(uint64(len(o.Mounts)), 10)
	for _, m := range o.Mounts {
		put(string(m.Kind), m.Source, m.Target, m.Upper, m.Work)
		number(uint64(m.Perms), 8)
		checked := uint64(0)
		if m.Checked {
			checked = 1
		}
		number(checked, 2)
		number(m.Dev, 16)
		number(m.Ino, 16)
	}
	return b
}

var errOrder = errors.New("the order is damaged")

func decodeOrder(data []byte) (*order, error) {
	bad := false
	next := func() string {
		i := bytes.IndexByte(data, 0)
		if i < 0 {
			bad = true
			return ""
		}
		s := string(data[:i])
		data = data[i+1:]
		return s
	}
	number := func(base int) uint64 {
		n, err := strconv.ParseUint(next(), base, 64)
		bad = bad || err != nil
		return n
	}
	list := func() []string {
		n := number(10)
		if n > uint64(len(data)) {
			bad = true
			return nil
		}
		out := make([]string, 0, n)
		for range n {
			out = append(out, next())
		}
		return out
	}
	o := &order{Stderr: int(number(10)), Mask: number(16), Ignored: number(16), Dir: next()}
	o.Args, o.Env = list(), list()
	for range number(10) {
		if bad {
			break
		}
		m := planned{Mount: Mount{Kind: Kind(next()), Source: next(), Target: next(), Upper: next(), Work: next(), Perms: uint32(number(8)), Checked: number(2) == 1}}
		m.Dev, m.Ino = number(16), number(16)
		o.Mounts = append(o.Mounts, m)
	}
	if bad || len(o.Args) == 0 {
		return nil, errOrder
	}
	return o, nil
}

// readOrder reads the order from the descriptor that an argument names.
func readOrder(arg string) (*order, error) {
	fd, err := strconv.Atoi(arg)
	if err != nil || fd < 3 {
		return nil, errOrder
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	data := make([]byte, st.Size)
	for n := 0; n < len(data); {
		k, err := unix.Pread(fd, data[n:], int64(n))
		if err != nil {
			return nil, err
		}
		if k == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		n += k
	}
	return decodeOrder(data)
}
