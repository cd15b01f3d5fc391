package auditlog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/agent-cage/agent-cage/policy/strictjson"
)

// maxLine bounds a line that is read, in bytes.
const maxLine = 1 << 20

// Line is one line that was read.
type Line struct {
	File   string // its name
	Number int    // in the file, from 1
	Raw    []byte // without the newline; valid until the next one is read
	Entry  Entry
	Err    error // why it is no line of the log, nil if it is one
}

// part is one file of the log as it was when it was opened.
type part struct {
	*os.File
	size int64
}

// openAll returns the files, oldest first, and the end of the chain, all of one
// moment.
func (l Log) openAll() (parts []part, end head, err error) {
	lock := flock.New(filepath.Join(l.Dir, headName), flock.SetFlag(os.O_RDWR))
	if err := lock.RLock(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
			if _, e := os.Lstat(filepath.Join(l.Dir, Name)); e == nil {
				err = fmt.Errorf("%s is missing beside %s", headName, Name)
			}
		}
		return nil, noHead, err
	}
	defer func() { _ = lock.Unlock() }()
	state, err := os.Open(lock.Path())
	if err != nil {
		return nil, noHead, err
	}
	defer state.Close()
	for i := l.keep(); i >= 0; i-- {
		name := filepath.Join(l.Dir, Name)
		if i > 0 {
			name = fmt.Sprintf("%s.%d", name, i)
		}
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			closeAll(parts)
			return nil, head{}, err
		}
		parts = append(parts, part{File: f})
		st, err := f.Stat()
		if err != nil {
			closeAll(parts)
			return nil, head{}, err
		}
		parts[len(parts)-1].size = st.Size()
	}
	return parts, readHead(state), nil
}

func closeAll(parts []part) {
	for _, p := range parts {
		p.Close()
	}
}

// Read goes through the lines, oldest first. A log that is not there has none.
func (l Log) Read(yield func(Line) error) error {
	parts, _, err := l.openAll()
	if err != nil {
		return err
	}
	defer closeAll(parts)
	for _, p := range parts {
		if err := readPart(p, yield); err != nil {
			return err
		}
	}
	return nil
}

func readPart(p part, yield func(Line) error) error {
	return scan(io.LimitReader(p.File, p.size), p.Name(), 1, yield)
}

func scan(r io.Reader, name string, from int, yield func(Line) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for n := from; lines.Scan(); n++ {
		line := Line{File: name, Number: n, Raw: lines.Bytes()}
		line.Entry, line.Err = parse(line.Raw)
		if err := yield(line); err != nil {
			return err
		}
	}
	return lines.Err()
}

func parse(raw []byte) (Entry, error) {
	var e Entry
	v, err := strictjson.Parse(raw)
	if err != nil {
		return e, err
	}
	if v.Kind != strictjson.Object {
		return e, errors.New("not an object")
	}
	if e.Time, err = time.Parse(time.RFC3339Nano, v.Get("time").Text); err != nil {
		return e, errors.New("no time")
	}
	for _, f := range e.fields() {
		*f.value = v.Get(f.key).Text
	}
	return e, nil
}

// Fault is one place where the log is not what was written.
type Fault struct {
	File   string
	Number int // of the line, 0 for the end of the log
	What   string
}

func (f Fault) String() string {
	if f.Number == 0 {
		return f.File + ": " + f.What
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Number, f.What)
}

// Verify recomputes the chain and returns how many lines there are and where
// it does not hold. Lines that rotation removed are not missed.
func (l Log) Verify() (lines int, faults []Fault, err error) {
	parts, end, err := l.openAll()
	if err != nil {
		return 0, nil, err
	}
	defer closeAll(parts)
	var before tail
	// Only where rotation has filled all the files, lines are gone.
	rotatedAway := len(parts) > 0 && strings.HasSuffix(parts[0].Name(), fmt.Sprintf(".%d", l.keep()))
	for _, p := range parts {
		err := readPart(p, func(line Line) error {
			lines++
			var what string
			if before, what = link(line, before, lines == 1, rotatedAway); what != "" {
				faults = append(faults, Fault{line.File, line.Number, what})
			}
			return nil
		})
		if err != nil {
			return lines, faults, err
		}
	}
	late := before.n == end.n+1 && before.prev == end.hash // the writer was killed before it noted the end
	if before.head != end && !late && (lines > 0 || end.n > 0) {
		faults = append(faults, Fault{File: filepath.Join(l.Dir, Name),
			What: fmt.Sprintf("line %d was written last, and is not the last one there", end.n)})
	}
	return lines, faults, nil
}

// link checks a line against the one before it.
func link(line Line, before tail, first, rotatedAway bool) (tail, string) {
	t, ok := parseTail(line.Raw)
	switch {
	case line.Err != nil:
		return before, "torn or changed: " + line.Err.Error()
	case !ok:
		return before, "torn or changed: it does not end in number and hashes"
	case sum(line.Raw[:t.hashed]) != t.hash:
		return t, "changed: its hash is another"
	case first && rotatedAway:
		return t, ""
	case first && (t.n != 1 || t.prev != noHead.hash):
		return t, "the chain does not begin here"
	case !first && (t.prev != before.hash || t.n != before.n+1):
		return t, fmt.Sprintf("the chain is broken: this is line %d after line %d", t.n, before.n)
	}
	return t, ""
}

// Follow yields the lines that are written from now on, rotation included,
// until the context ends.
func (l Log) Follow(ctx context.Context, every time.Duration, yield func(Line) error) error {
	name := filepath.Join(l.Dir, Name)
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		f = nil
	} else if err != nil {
		return err
	} else if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	defer func() {
		if f != nil {
			f.Close()
		}
	}()
	var rest []byte
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		// Which file is current is asked before reading, so that the lines
		// written up to a rotation are read before the file is left.
		now, statErr := os.Stat(name)
		if f != nil {
			if rest, err = drain(f, rest, yield); err != nil {
				return err
			}
		}
		if statErr == nil && !same(f, now) {
			next, err := os.Open(name)
			if err == nil {
				if f != nil {
					f.Close()
				}
				f, rest = next, nil
				continue
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func same(f *os.File, st fs.FileInfo) bool {
	if f == nil {
		return false
	}
	own, err := f.Stat()
	return err == nil && os.SameFile(own, st)
}

// drain reads what is new and yields the whole lines of it.
func drain(f *os.File, rest []byte, yield func(Line) error) ([]byte, error) {
	data, err := io.ReadAll(f)
	if err != nil {
		return rest, err
	}
	rest = append(rest, data...)
	for {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return rest, nil
		}
		line := Line{File: f.Name(), Raw: rest[:i]}
		line.Entry, line.Err = parse(line.Raw)
		if err := yield(line); err != nil {
			return rest, err
		}
		rest = rest[i+1:]
	}
}
