package launch

import (
	"errors"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/agent-cage/agent-cage/libcage/engine"
)

// outlet is one of the caller's streams, whose errors tell that they are its.
type outlet struct{ file *os.File }

// outletError is an error of writing to a stream of the caller's.
type outletError struct {
	file *os.File
	err  error
}

func (o outlet) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if err != nil {
		err = &outletError{o.file, err}
	}
	return n, err
}

func (e *outletError) Error() string { return e.err.Error() }

func (e *outletError) Unwrap() error { return e.err }

// screen is the outlet of a terminal. What is written after a hangup is for
// nobody: the hangup is a signal, which ends the box in its own time.
type screen struct{ outlet }

func (s screen) Write(p []byte) (int, error) {
	n, err := s.outlet.Write(p)
	if errors.Is(err, syscall.EIO) {
		return len(p), nil
	}
	return n, err
}

// writeError returns the error of a stream of the caller's that err wraps, or
// nil.
func writeError(err error) error {
	var e *outletError
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// readerGone returns the stream of the caller's that nobody reads any more, if
// err says so, else nil.
func readerGone(err error) *os.File {
	var e *outletError
	if errors.As(err, &e) && errors.Is(e.err, syscall.EPIPE) {
		return e.file
	}
	return nil
}

// dieOfPipe ends the process as SIGPIPE ends a program that writes to a file
// that nobody reads. The runtime does that on such a write to stdout or
// stderr, unless the signal was asked for.
func dieOfPipe(file *os.File) {
	signal.Reset(syscall.SIGPIPE)
	_, _ = file.Write([]byte{0})
}

// isConnectionError reports whether err says no more than that the connection
// to the box is gone, for which there is a better reason elsewhere.
func isConnectionError(err error) bool {
	var unreachable *engine.UnreachableError
	return errors.As(err, &unreachable) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
