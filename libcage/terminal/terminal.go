// Package terminal is the caller's terminal while a box uses it: its modes,
// its size, and that it is left as it was found.
package terminal

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Terminal is the terminal on a launcher's standard streams.
type Terminal struct {
	fd    int
	saved *unix.Termios

	mu  sync.Mutex
	now mode
}

// mode turns the modes that were found into others.
type mode func(unix.Termios) unix.Termios

func found(m unix.Termios) unix.Termios { return m }

func held(m unix.Termios) unix.Termios {
	m.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	m.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.IEXTEN
	m.Cflag = m.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	m.Cc[unix.VMIN], m.Cc[unix.VTIME] = 1, 0
	return m
}

func raw(m unix.Termios) unix.Termios {
	m = held(m)
	m.Oflag &^= unix.OPOST
	m.Lflag &^= unix.ISIG
	return m
}

// Open remembers the modes of the terminal that f is.
func Open(f *os.File) (*Terminal, error) {
	fd := int(f.Fd())
	saved, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, os.NewSyscallError("tcgetattr", err)
	}
	return &Terminal{fd: fd, saved: saved, now: found}, nil
}

// Hold is the mode before the harness has the terminal: nothing that is typed
// is echoed, edited or translated, so it arrives as typed; but the keys that
// send signals still do, and output looks as always.
func (t *Terminal) Hold() error { return t.enter(held) }

// Raw is the mode while the harness has the terminal: every key is its own.
func (t *Terminal) Raw() error { return t.enter(raw) }

// Restore gives the terminal back as it was found. It may be called more than
// once.
func (t *Terminal) Restore() error { return t.enter(found) }

func (t *Terminal) enter(m mode) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = m
	return t.apply(m)
}

// apply takes effect at once and loses nothing that was typed.
func (t *Terminal) apply(m mode) error {
	modes := m(*t.saved)
	return os.NewSyscallError("tcsetattr", unix.IoctlSetTermios(t.fd, setTermios, &modes))
}

// Suspend gives the terminal back while f runs, and then takes it again as it
// was before. In the background the taking stops this process, as any program
// that a shell has not got in front is stopped.
func (t *Terminal) Suspend(f func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.apply(found), f(), t.apply(t.now))
}

// Retake takes the terminal as it was before somebody else may have had it,
// after a stop of which nothing was known before. It is like Suspend in the
// background.
func (t *Terminal) Retake() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.apply(t.now)
}

// Size returns the number of rows and columns.
func (t *Terminal) Size() (rows, cols uint16, err error) {
	size, err := unix.IoctlGetWinsize(t.fd, unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, os.NewSyscallError("tiocgwinsz", err)
	}
	return size.Row, size.Col, nil
}
