package boxinit

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/handshake"
)

// terminal is the box's terminal during the handshake.
type terminal struct {
	fd    int
	saved unix.Termios
}

// openTerminal puts f into raw mode if it is a terminal, so that a frame
// passes unchanged and unseen; else it returns nil.
func openTerminal(f *os.File) (*terminal, error) {
	fd := int(f.Fd())
	saved, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, nil
	}
	t := &terminal{fd: fd, saved: *saved}
	raw := *saved
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	return t, unix.IoctlSetTermios(fd, unix.TCSETS, &raw)
}

// restore undoes raw mode and keeps what has been typed.
func (t *terminal) restore() error {
	return unix.IoctlSetTermios(t.fd, unix.TCSETS, &t.saved)
}

func (t *terminal) resize(s handshake.Size) error {
	return unix.IoctlSetWinsize(t.fd, unix.TIOCSWINSZ, &unix.Winsize{Row: s.Rows, Col: s.Cols})
}

// giveUp makes the terminal nobody's, so that the harness's session can take
// it without a privilege. Giving it up sends HUP and CONT to its owner, which
// signals then catches again: what is ignored stays ignored across execve.
func (t *terminal) giveUp(signals chan<- os.Signal) error {
	own := []os.Signal{unix.SIGHUP, unix.SIGCONT}
	signal.Ignore(own...)
	defer signal.Notify(signals, own...)
	err := unix.IoctlSetInt(t.fd, unix.TIOCNOTTY, 0)
	if err == unix.ENOTTY { // it was not this session's
		return nil
	}
	return err
}
