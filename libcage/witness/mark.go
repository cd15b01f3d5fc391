package witness

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A copy that keeps all times looks like the directory itself. So the launcher
// leaves a new mark where the directory is its own to write, and the box looks
// for it: no copy has it.
const (
	// MarkFile has the marks of the last launches, a line each.
	MarkFile = ".launches"
	// maxMarks is when older marks are forgotten, in bytes: those of some
	// hundred launches, of which each is read within seconds.
	maxMarks = 16 << 10
)

// How long file sharing may take to show what was written on the other side.
var (
	markWithin = 3 * time.Second
	markPause  = 50 * time.Millisecond
)

// Leave leaves a mark in a directory.
func Leave(dir interface {
	AppendLine(name, line string, limit int64) error
}, mark string) error {
	return dir.AppendLine(MarkFile, mark, maxMarks)
}

// marked waits until a directory has the mark.
func (w Witness) marked(path string) error {
	for latest := time.Now().Add(markWithin); ; time.Sleep(markPause) {
		lines, err := readMarks(filepath.Join(path, MarkFile))
		switch {
		case slices.Contains(lines, w.Mark):
			return nil
		case time.Now().Before(latest):
		case err != nil && !os.IsNotExist(err):
			return err
		default:
			return &MismatchError{w.Dir}
		}
	}
}

// readMarks reads what the launcher has left, or whatever a box has put there.
func readMarks(path string) ([]string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 2*maxMarks))
	return strings.Split(string(text), "\n"), err
}
