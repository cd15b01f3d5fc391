// Package auditlog keeps what the gate decided: lines of JSON, each of which
// carries the hash of the one before, in files that are rotated. A changed,
// lost or torn line is found by Verify. There is no key in it, so that whoever
// can write the files can write a new chain: they lie outside the zone.
package auditlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/policy/strictjson"
)

// Name is the file that is written; rotated ones have .1, .2, … appended, the
// newest first.
const Name = "gate.jsonl"

// headName is the file that is locked. It holds number and hash of the last
// line, so that lines missing at the end are noticed.
const headName = "gate.head"

const (
	defaultMaxBytes = 8 << 20
	defaultKeep     = 9
)

// Entry is one decision. Its strings are written as they are given: what is
// secret has to be taken out before.
type Entry struct {
	Time     time.Time
	Harness  string // claude, codex
	Tool     string
	Cwd      string
	Mode     string // of the gate
	Class    string // ungated, green, gated
	Code     string // of the rule that decided
	Decision string // allow, ask, deny, silent; in audit what it would have been
	By       string // rule, memory, prompt
	Command  string // of a shell call
	Path     string // of a file call
	Rewrite  string // what ran instead
}

// Log is a log in a directory. The zero values of the numbers mean files of
// 8 MiB and nine of them beside the current one.
type Log struct {
	Dir      string
	MaxBytes int64 // size from which on a file is rotated
	Keep     int   // how many rotated files are kept
}

// head is the end of the chain.
type head struct {
	n    uint64
	hash string
}

var noHead = head{hash: hex.EncodeToString(make([]byte, sha256.Size))}

// Append writes one entry. It waits for other writers, and returns an error
// unless the whole line is in the file.
func (l Log) Append(e Entry) error {
	lock := flock.New(filepath.Join(l.Dir, headName), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	err := lock.Lock()
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(l.Dir, 0o700); err != nil {
			return err
		}
		err = lock.Lock()
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	state, err := os.OpenFile(lock.Path(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer state.Close()
	return l.append(state, e)
}

func (l Log) append(state *os.File, e Entry) error {
	f, err := l.open()
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", f.Name())
	}
	prev, torn, err := last(f, st.Size(), readHead(state))
	if err != nil {
		return err
	}
	line, next := format(e, prev)
	if torn {
		line = append([]byte{'\n'}, line...)
	}
	if n, err := f.Write(line); err != nil || n < len(line) {
		// Half a line must not stay; if it cannot be taken back, the next
		// writer ends it and Verify reports it.
		_ = f.Truncate(st.Size())
		if err == nil {
			err = io.ErrShortWrite
		}
		return err
	}
	if _, err := state.WriteAt(fmt.Appendf(nil, "%020d %s\n", next.n, next.hash), 0); err != nil {
		return err
	}
	if st.Size()+int64(len(line)) >= l.maxBytes() {
		return l.rotate()
	}
	return nil
}

func (l Log) open() (*os.File, error) {
	name := filepath.Join(l.Dir, Name)
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_APPEND|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (l Log) maxBytes() int64 {
	if l.MaxBytes > 0 {
		return l.MaxBytes
	}
	return defaultMaxBytes
}

func (l Log) keep() int {
	if l.Keep > 0 {
		return l.Keep
	}
	return defaultKeep
}

func (l Log) rotate() error {
	name := filepath.Join(l.Dir, Name)
	for i := l.keep(); i > 0; i-- {
		from := name
		if i > 1 {
			from = fmt.Sprintf("%s.%d", name, i-1)
		}
		if err := os.Rename(from, fmt.Sprintf("%s.%d", name, i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// readHead returns the recorded end of the chain. One that cannot be read is
// like none: the next line then breaks the chain, and Verify says so.
func readHead(state io.ReaderAt) head {
	buf := make([]byte, 20+1+2*sha256.Size)
	if n, _ := state.ReadAt(buf, 0); n < len(buf) {
		return noHead
	}
	n, err := strconv.ParseUint(string(buf[:20]), 10, 64)
	if err != nil || !isHash(buf[21:]) {
		return noHead
	}
	return head{n, string(buf[21:])}
}

// last returns what the next line has to continue, and whether the file ends
// in a torn line. The recorded head counts, unless its writer was killed
// between line and head.
func last(f io.ReaderAt, size int64, recorded head) (prev head, torn bool, err error) {
	if size == 0 {
		return recorded, false, nil
	}
	buf := make([]byte, min(size, 512))
	if _, err := f.ReadAt(buf, size-int64(len(buf))); err != nil {
		return head{}, false, err
	}
	if buf[len(buf)-1] != '\n' {
		return recorded, true, nil
	}
	t, ok := parseTail(buf[:len(buf)-1])
	if ok && t.n == recorded.n+1 && t.prev == recorded.hash {
		return t.head, false, nil
	}
	return recorded, false, nil
}

// tail is what ends a line: ,"n":N,"prev":"HASH","hash":"HASH"}
type tail struct {
	head
	prev   string
	hashed int // how many bytes of the line the hash covers
}

const hashLen = 2 * sha256.Size

func parseTail(line []byte) (tail, bool) {
	const prevKey, hashKey = `,"prev":"`, `","hash":"`
	end := len(line) - len(`"}`)
	hash := end - hashLen
	prev := hash - len(hashKey) - hashLen
	key := prev - len(prevKey)
	if key < 0 || string(line[end:]) != `"}` || string(line[hash-len(hashKey):hash]) != hashKey ||
		string(line[key:prev]) != prevKey || !isHash(line[hash:end]) || !isHash(line[prev:prev+hashLen]) {
		return tail{}, false
	}
	i := bytes.LastIndex(line[:key], []byte(`,"n":`))
	if i < 0 {
		return tail{}, false
	}
	n, err := strconv.ParseUint(string(line[i+len(`,"n":`):key]), 10, 64)
	if err != nil {
		return tail{}, false
	}
	return tail{head{n, string(line[hash:end])}, string(line[prev : prev+hashLen]), hash - len(`,"hash":"`)}, true
}

func isHash(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(b) == hashLen
}

// format writes the line after prev.
func format(e Entry, prev head) ([]byte, head) {
	v := strictjson.Value{Kind: strictjson.Object}
	v.Members = append(v.Members, member("time", e.Time.UTC().Format(time.RFC3339Nano)))
	for _, f := range e.fields() {
		if *f.value != "" {
			v.Members = append(v.Members, member(f.key, *f.value))
		}
	}
	line := strictjson.Append(make([]byte, 0, 1024), v)
	n := prev.n + 1
	line = fmt.Appendf(line[:len(line)-1], `,"n":%d,"prev":"%s"`, n, prev.hash)
	hash := sum(line)
	line = fmt.Appendf(line, `,"hash":"%s"}`+"\n", hash)
	return line, head{n, hash}
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

type field struct {
	key   string
	value *string
}

func (e *Entry) fields() []field {
	return []field{
		{"harness", &e.Harness}, {"tool", &e.Tool}, {"cwd", &e.Cwd}, {"mode", &e.Mode}, {"class", &e.Class},
		{"code", &e.Code}, {"decision", &e.Decision}, {"by", &e.By}, {"command", &e.Command}, {"path", &e.Path},
		{"rewrite", &e.Rewrite},
	}
}

func member(key, text string) strictjson.Member {
	return strictjson.Member{Key: key, Value: strictjson.Value{Kind: strictjson.String, Text: text}}
}
