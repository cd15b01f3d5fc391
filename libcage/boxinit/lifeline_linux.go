package boxinit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
)

const lifelineSocket = needs.RunDir + "/lifeline.sock"

// lifeline tells PID 1 whether its launcher lives. Each connection of the
// bystander to its socket is one; the box's launcher is gone when there has
// been one and the last of them is closed. The harness is not the bystander
// and cannot signal it, so it can neither forge, stop nor cut one.
type lifeline struct {
	held chan struct{} // closed at the first connection
	lost chan struct{} // closed at the end of the last one

	mu    sync.Mutex
	open  int
	first sync.Once
	last  sync.Once
}

func newLifeline() *lifeline {
	return &lifeline{held: make(chan struct{}), lost: make(chan struct{})}
}

// listen starts to accept lifelines at path.
func (l *lifeline) listen(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := unix.Chmod(path, 0o600); err != nil {
		return err
	}
	// Its mode could not be changed any more: cage-init may give away, not take.
	if err := unix.Chown(path, needs.BystanderID, needs.BystanderID); err != nil {
		return fmt.Errorf("owner of %s: %w", path, err)
	}
	if err := unix.Listen(fd, 8); err != nil {
		return err
	}
	held, lost := l.held, l.lost
	go func() {
		for {
			conn, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
			if err == nil {
				go l.hold(conn, held, lost)
			}
		}
	}()
	return nil
}

// hold serves one connection.
func (l *lifeline) hold(conn int, held, lost chan struct{}) {
	defer unix.Close(conn)
	peer, err := unix.GetsockoptUcred(conn, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || peer.Uid != needs.BystanderID {
		return
	}
	l.count(1)
	l.first.Do(func() { close(held) })
	_, _ = unix.Write(conn, []byte(needs.LifelineHeld))
	waitEOF(conn)
	if l.count(-1) == 0 {
		l.last.Do(func() { close(lost) })
	}
}

func (l *lifeline) count(d int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open += d
	return l.open
}

func waitEOF(fd int) {
	var buf [64]byte
	for {
		n, err := unix.Read(fd, buf[:])
		if n <= 0 && err != unix.EINTR {
			return
		}
	}
}

// holdLifeline is the program at the launcher's end of a lifeline: it connects
// to PID 1, prints "held" when PID 1 knows of it, and stays until stdin, which
// the launcher holds, comes to its end.
func holdLifeline(path string, stdin io.Reader, stdout io.Writer) error {
	fd, err := dial(path)
	if err != nil {
		return fmt.Errorf("the box cannot be reached: %s: %w", path, err)
	}
	defer unix.Close(fd)
	// It was started with what cage-init was given, and needs nothing of it.
	if err := dropCapabilities(); err != nil {
		return err
	}
	useNoMoreThreads()
	ack := make([]byte, len(needs.LifelineHeld))
	if n, err := unix.Read(fd, ack); err != nil || string(ack[:n]) != needs.LifelineHeld {
		return errors.New("the box has refused the lifeline")
	}
	if _, err := stdout.Write(ack); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, stdin) // an error is an end too
	return nil
}

// dial connects to PID 1, which may be about to listen.
func dial(path string) (int, error) {
	const pause, tries = 20 * time.Millisecond, 50
	for try := 1; ; try++ {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return -1, err
		}
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		if err == nil {
			return fd, nil
		}
		unix.Close(fd)
		if try == tries || err != unix.ENOENT && err != unix.ECONNREFUSED {
			return -1, err
		}
		time.Sleep(pause)
	}
}
