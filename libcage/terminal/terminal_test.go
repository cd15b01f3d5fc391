package terminal

import (
	"os"
	"reflect"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

func modes(t *testing.T, f *os.File) *unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestModes(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	before := modes(t, slave)
	term, err := Open(slave)
	if err != nil {
		t.Fatal(err)
	}
	const cooked = unix.ECHO | unix.ICANON
	if err := term.Hold(); err != nil {
		t.Fatal(err)
	}
	if m := modes(t, slave); m.Lflag&cooked != 0 || m.Lflag&unix.ISIG == 0 || m.Iflag&unix.ICRNL != 0 || m.Oflag&unix.OPOST == 0 {
		t.Errorf("hold: %+v, want no echo and no editing, but signals and newlines", m)
	}
	if err := term.Raw(); err != nil {
		t.Fatal(err)
	}
	if m := modes(t, slave); m.Lflag&(cooked|unix.ISIG) != 0 || m.Oflag&unix.OPOST != 0 {
		t.Errorf("raw: %+v, want no signals either", m)
	}
	during := *before
	err = term.Suspend(func() error {
		during = *modes(t, slave)
		return nil
	})
	if err != nil || !reflect.DeepEqual(*before, during) {
		t.Errorf("suspended: %+v, %v, want %+v", during, err, before)
	}
	if m := modes(t, slave); m.Lflag&(cooked|unix.ISIG) != 0 {
		t.Errorf("after a suspension: %+v, want raw again", m)
	}
	if err := unix.IoctlSetTermios(int(slave.Fd()), setTermios, before); err != nil {
		t.Fatal(err)
	}
	if err := term.Retake(); err != nil {
		t.Fatal(err)
	}
	if m := modes(t, slave); m.Lflag&(cooked|unix.ISIG) != 0 {
		t.Errorf("after somebody else had it: %+v, want raw again", m)
	}
	for range 2 {
		if err := term.Restore(); err != nil {
			t.Fatal(err)
		}
	}
	if after := modes(t, slave); !reflect.DeepEqual(before, after) {
		t.Errorf("restored to %+v, want %+v", after, before)
	}
}

// A terminal whose owner has switched signals off stays so.
func TestHoldKeepsSignalsOff(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	m := modes(t, slave)
	m.Lflag &^= unix.ISIG
	if err := unix.IoctlSetTermios(int(slave.Fd()), setTermios, m); err != nil {
		t.Fatal(err)
	}
	term, err := Open(slave)
	if err != nil {
		t.Fatal(err)
	}
	if err := term.Hold(); err != nil {
		t.Fatal(err)
	}
	if modes(t, slave).Lflag&unix.ISIG != 0 {
		t.Error("signals came on")
	}
}

func TestSize(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	if err := pty.Setsize(master, &pty.Winsize{Rows: 12, Cols: 34}); err != nil {
		t.Fatal(err)
	}
	term, err := Open(slave)
	if err != nil {
		t.Fatal(err)
	}
	if rows, cols, err := term.Size(); err != nil || rows != 12 || cols != 34 {
		t.Errorf("got %d × %d, %v, want 12 × 34", rows, cols, err)
	}
}

func TestOpenRefusesAFile(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := Open(null); err == nil {
		t.Error("/dev/null is taken for a terminal")
	}
}
