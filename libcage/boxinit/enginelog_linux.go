package boxinit

import (
	"io"
	"os"
	"strings"
	"sync"
)

const (
	// maxLog bounds the log, which is in the box's memory, in bytes.
	maxLog = 1 << 20
	// tailBytes is how much of its end is told.
	tailBytes = 2 << 10
)

// logFile is the engine's log. It begins anew when it is full.
type logFile struct {
	mu   sync.Mutex
	file *os.File
	size int
	last string
}

func openLog(path string) (*logFile, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	return &logFile{file: file}, err
}

// take writes what comes from an engine until it ends.
func (l *logFile) take(from io.ReadCloser) {
	defer from.Close()
	_, _ = io.Copy(l, from)
}

// Write never fails: an engine must not end for want of a log.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+len(p) > maxLog && l.file.Truncate(0) == nil {
		l.size = 0
	}
	n, _ := l.file.Write(p)
	l.size += n
	l.last += string(p)
	l.last = l.last[max(0, len(l.last)-tailBytes):]
	return len(p), nil
}

func (l *logFile) note(line string) { _, _ = l.Write([]byte(line + "\n")) }

// tail returns the last lines, as one.
func (l *logFile) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(strings.Fields(l.last), " ")
}
