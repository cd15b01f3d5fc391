// Package terminal is the caller's terminal while a box uses it: its modes,
// its size, and that it is left as it was found.
package terminal

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Terminal is the terminal on a launcher's standard streams.
type Terminal struct {
	fd    int
	mu    sync.Mutex
	saved *unix.Termios
}

// Open remembers the modes of the terminal that f is.
func Open(f *os.File) (*Terminal, error) {
	fd := int(f.Fd())
	saved, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, os.NewSyscallError("tcgetattr", err)
	}
	return &Terminal{fd: fd, saved: saved}, nil
}

// Hold is the mode before the harness has the terminal: nothing is echoed,
// edited or translated, so what is typed ahead arrives as typed, but the keys
// that send signals still do.
func (t *Terminal) Hold() error { return t.set(true) }

// Raw is the mode while the harness has the terminal: every key is its own.
func (t *Terminal) Raw() error { return t.set(false) }

// set enters raw mode, at once and without a loss of what was typed. Keys
// send signals still if they did before and are to be kept.
func (t *Terminal) set(keepSignals bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	raw := *t.saved
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.IEXTEN
	if !keepSignals {
		raw.Lflag &^= unix.ISIG
	}
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	return os.NewSyscallError("tcsetattr", unix.IoctlSetTermios(t.fd, setTermios, &raw))
}

// Restore gives the terminal back as it was found. It may be called more than
// once.
func (t *Terminal) Restore() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return os.NewSyscallError("tcsetattr", unix.IoctlSetTermios(t.fd, setTermios, t.saved))
}

// Size returns the number of rows and columns.
func (t *Terminal) Size() (rows, cols uint16, err error) {
	size, err := unix.IoctlGetWinsize(t.fd, unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, os.NewSyscallError("tiocgwinsz", err)
	}
	return size.Row, size.Col, nil
}
