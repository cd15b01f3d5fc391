package terminal

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// foregroundPause is how often a process in the background looks whether it
// has come to the front.
const foregroundPause = 200 * time.Millisecond

// Foreground returns a reader of a terminal that waits while the process is in
// the background, where a read would stop it: the signal for that, SIGTTIN, is
// ignored from now on.
func Foreground(file *os.File) io.Reader {
	signal.Ignore(unix.SIGTTIN)
	return foreground{file}
}

type foreground struct{ file *os.File }

func (f foreground) Read(p []byte) (int, error) {
	for {
		if f.behind() {
			time.Sleep(foregroundPause)
			continue
		}
		n, err := f.file.Read(p)
		// It went to the background in the middle of the read.
		if errors.Is(err, unix.EIO) && f.behind() {
			continue
		}
		return n, err
	}
}

// behind reports whether the terminal is another process group's.
func (f foreground) behind() bool {
	group, err := unix.IoctlGetInt(int(f.file.Fd()), unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp()
}
