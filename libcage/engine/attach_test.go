package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func frame(stream byte, payload string) string {
	header := make([]byte, 8)
	header[0] = stream
	binary.BigEndian.PutUint32(header[4:], uint32(len(payload)))
	return string(header) + payload
}

func attachmentOf(r io.Reader, tty bool) *Attachment {
	return &Attachment{output: r, tty: tty, wrap: func(err error) error { return &UnreachableError{Err: err} }}
}

func TestCopy(t *testing.T) {
	long := strings.Repeat("x", 3*copyBuffer+1)
	for name, test := range map[string]struct {
		input, stdout, stderr string
		tty, broken           bool
	}{
		"nothing":         {},
		"both streams":    {input: frame(1, "a") + frame(2, "b") + frame(1, "c"), stdout: "ac", stderr: "b"},
		"empty frame":     {input: frame(1, "") + frame(2, "b"), stderr: "b"},
		"a long frame":    {input: frame(2, long) + frame(1, "!"), stdout: "!", stderr: long},
		"terminal":        {input: frame(1, "a"), tty: true, stdout: frame(1, "a")},
		"cut in a header": {input: frame(1, "a")[:3], broken: true},
		"cut in a frame":  {input: frame(1, "abc")[:10], stdout: "ab", broken: true},
		"cut at a frame":  {input: frame(1, "abc")[:8], broken: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, chunked := range []bool{false, true} {
				var r io.Reader = strings.NewReader(test.input)
				if chunked {
					r = oneByte{r}
				}
				var stdout, stderr bytes.Buffer
				err := attachmentOf(r, test.tty).Copy(&stdout, &stderr)
				var lost *UnreachableError
				if errors.As(err, &lost) != test.broken || (err != nil && !test.broken) {
					t.Errorf("error %v", err)
				}
				if stdout.String() != test.stdout || stderr.String() != test.stderr {
					t.Errorf("got %q and %q", stdout.String(), stderr.String())
				}
			}
		})
	}
}

type oneByte struct{ io.Reader }

func (r oneByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:1]) }

func TestCopyOfAnUnknownStream(t *testing.T) {
	if err := attachmentOf(strings.NewReader(frame(9, "a")), false).Copy(io.Discard, io.Discard); err == nil {
		t.Error("no error")
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestCopyTellsTheWritersErrors(t *testing.T) {
	for _, test := range []struct {
		stream string
		input  string
		tty    bool
	}{{"stdout", frame(1, "a"), false}, {"stderr", frame(2, "a"), false}, {"stdout", "a", true}} {
		err := attachmentOf(strings.NewReader(test.input), test.tty).Copy(brokenPipe{}, brokenPipe{})
		var failed *WriteError
		if !errors.As(err, &failed) || failed.Stream != test.stream || !errors.Is(err, syscall.EPIPE) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// A frame of the largest size that the protocol has does not make memory grow.
func TestCopyInFlatMemory(t *testing.T) {
	const size = 512 << 20
	header := make([]byte, 8)
	header[0] = 1
	binary.BigEndian.PutUint32(header[4:], size)
	input := io.MultiReader(bytes.NewReader(header), io.LimitReader(zeros{}, size))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := attachmentOf(input, false).Copy(io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes were allocated", got)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
