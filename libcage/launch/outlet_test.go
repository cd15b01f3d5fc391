package launch

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// TestOutletErrors: what is wrong with the caller's own stream is told from
// the same error of the connection to the box.
func TestOutletErrors(t *testing.T) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	_, err = outlet{w}.Write([]byte("x"))
	if err := fmt.Errorf("copy: %w", err); readerGone(err) != w || writeError(err) == nil {
		t.Errorf("%v is not taken for a reader that went away", err)
	}
	if err := fmt.Errorf("handshake: %w", syscall.EPIPE); readerGone(err) != nil || writeError(err) != nil || !isConnectionError(err) {
		t.Errorf("%v is taken for a reader that went away", err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("this system has no /dev/full")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if _, err := (outlet{full}).Write([]byte("x")); readerGone(err) != nil || writeError(err) == nil {
		t.Errorf("got %v, want an error of the stream that is no missing reader", err)
	}
}

func TestScreenAfterHangup(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	s := screen{outlet{slave}}
	master.Close()
	if n, err := s.Write([]byte("xyz")); n != 3 || err != nil {
		t.Errorf("got %d, %v, want what is written to be dropped", n, err)
	}
}
