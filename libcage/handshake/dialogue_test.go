package handshake

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/libcage/cabundle"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

const testNonce = "00112233445566778899aabbccddeeff"

// record is everything a Dialogue did.
type record struct {
	Events  []string
	Out     string
	Reached Point
	Fault   string
}

// feed gives the pieces to a Dialogue and records what it does.
func feed(t *testing.T, pieces ...[]byte) record {
	t.Helper()
	var rec record
	var out bytes.Buffer
	d := NewDialogue(testNonce, &out, Events{
		Ready:    func([]cabundle.ID) error { rec.Events = append(rec.Events, "ready"); return nil },
		Progress: func(s string) { rec.Events = append(rec.Events, "progress "+s) },
		Go: func() error {
			rec.Events = append(rec.Events, fmt.Sprintf("go after %d bytes", out.Len()))
			return nil
		},
	})
	for _, p := range pieces {
		own := bytes.Clone(p)
		d.Write(own)
		clear(own) // a Writer must not keep what it was given
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	o := d.Outcome()
	rec.Out, rec.Reached = out.String(), o.Reached
	if o.Fault != nil {
		rec.Fault = o.Fault.Line("x")
	}
	return rec
}

// said returns what a Box writes when talk is done.
func said(talk func(*Box)) string {
	var buf bytes.Buffer
	talk(NewBox(&buf))
	return buf.String()
}

func started() string {
	return said(func(b *Box) { b.Ready(nil); b.Progress("engine: 1 s"); b.Go() })
}

func failed(nonce string) string {
	return said(func(b *Box) {
		b.ExecFailed(nonce, exitstatus.Faultf(exitstatus.HarnessNotExecutable, "exec format error"))
	})
}

var conversations = []struct {
	name, in string
	want     record
}{
	{"nothing", "", record{}},
	{"ready only", said(func(b *Box) { b.Ready(nil) }),
		record{Events: []string{"ready"}, Reached: Ready}},
	{"harness without output", started(),
		record{Events: []string{"ready", "progress engine: 1 s", "go after 0 bytes"}, Reached: Started}},
	{"harness output", started() + "hello\r\n\x00\xff",
		record{Events: []string{"ready", "progress engine: 1 s", "go after 0 bytes"}, Reached: Started, Out: "hello\r\n\x00\xff"}},
	{"fault", said(func(b *Box) {
		b.Ready(nil)
		b.Fault(exitstatus.Faultf(exitstatus.EngineStartFailed, "no é\nhere"))
	}) + "ignored",
		record{Events: []string{"ready"}, Reached: Ready, Fault: `x: fault=engine-start-failed detail="no é\nhere"`}},
	{"fault before ready", said(func(b *Box) {
		b.Fault(exitstatus.Faultf(exitstatus.EngineStartFailed, "early"))
	}),
		record{Fault: `x: fault=engine-start-failed detail="early"`}},
	{"exec failed", started() + failed(testNonce),
		record{Events: []string{"ready", "progress engine: 1 s", "go after 0 bytes"}, Reached: ExecFailed,
			Fault: `x: fault=harness-not-executable detail="exec format error"`}},
	{"forged exec failure", started() + failed(strings.Repeat("0", nonceLen)),
		record{Events: []string{"ready", "progress engine: 1 s", "go after 0 bytes"}, Reached: Started,
			Out: failed(strings.Repeat("0", nonceLen))}},
	{"exec failure that is not first", started() + "x" + failed(testNonce),
		record{Events: []string{"ready", "progress engine: 1 s", "go after 0 bytes"}, Reached: Started,
			Out: "x" + failed(testNonce)}},
	{"harness writes the magic and ends", started() + magic,
		record{Events: []string{"ready", "progress engine: 1 s", "go after 0 bytes"}, Reached: Started, Out: magic}},
	{"harness writes all but the nonce's end", started() + magic + "X" + testNonce[:31] + "0tail",
		record{Events: []string{"ready", "progress engine: 1 s", "go after 0 bytes"}, Reached: Started,
			Out: magic + "X" + testNonce[:31] + "0tail"}},
	{"harness says GO itself", started() + said(func(b *Box) { b.Go() }),
		record{Events: []string{"ready", "progress engine: 1 s", "go after 0 bytes"}, Reached: Started,
			Out: said(func(b *Box) { b.Go() })}},
	{"exec failure cut off", started() + failed(testNonce)[:len(failed(testNonce))-3],
		record{Events: []string{"ready", "progress engine: 1 s", "go after 0 bytes"}, Reached: ExecFailed,
			Fault: `x: fault=harness-not-executable detail="the harness could not be executed, and the reason was cut off"`}},
	{"foreign entry point", "root@box:/# " + strings.Repeat("y", 2*maxForeign),
		record{Fault: foreignFault([]byte("root@box:/# " + strings.Repeat("y", maxForeign))).Line("x")}},
	{"foreign bytes after ready", said(func(b *Box) { b.Ready(nil) }) + "oops",
		record{Events: []string{"ready"}, Reached: Ready, Fault: foreignFault([]byte("oops")).Line("x")}},
	{"GO before ready", said(func(b *Box) { b.Go() }),
		record{Fault: foreignFault([]byte(said(func(b *Box) { b.Go() }))).Line("x")}},
	{"ready cut off", said(func(b *Box) { b.Ready(nil) })[:9],
		record{Fault: foreignFault([]byte(magic[:9])).Line("x")}},
	{"other version", strings.Replace(said(func(b *Box) { b.Ready(nil) }), `"version":2`, `"version":9`, 1),
		record{Fault: `x: fault=engine-start-failed detail="cage-init in the image speaks version 9 of the handshake and this launcher version 2: rebuild the image"`}},
}

func TestConversations(t *testing.T) {
	for _, tt := range conversations {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, feed(t, []byte(tt.in))); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, feed(t, bytes.SplitAfter([]byte(tt.in), nil)...)); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
			for i := range tt.in {
				if diff := cmp.Diff(tt.want, feed(t, []byte(tt.in[:i]), []byte(tt.in[i:]))); diff != "" {
					t.Fatalf("split at %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

// FuzzSplits: however the stream is cut, the Dialogue does the same.
func FuzzSplits(f *testing.F) {
	for _, tt := range conversations {
		f.Add([]byte(tt.in), uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		want := feed(t, in)
		rng := rand.New(rand.NewPCG(seed, 0))
		var pieces [][]byte
		for rest := in; len(rest) > 0; {
			n := 1 + rng.IntN(len(rest))
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		if diff := cmp.Diff(want, feed(t, pieces...)); diff != "" {
			t.Errorf("(-whole +pieces):\n%s", diff)
		}
	})
}

// FuzzHarness: whatever a harness writes that does not know the nonce, comes
// out unchanged.
func FuzzHarness(f *testing.F) {
	f.Add([]byte("hello"))
	f.Add([]byte(magic + "X" + testNonce[:30]))
	f.Fuzz(func(t *testing.T, in []byte) {
		if bytes.Contains(in, []byte(testNonce)) {
			return
		}
		got := feed(t, []byte(started()), in)
		if got.Out != string(in) || got.Reached != Started || got.Fault != "" {
			t.Errorf("%q became %+v", in, got)
		}
	})
}

// TestNothingIsHeldBack: bytes that cannot be a failed exec any more come out
// with the Write that brought them, else a prompt would not appear.
func TestNothingIsHeldBack(t *testing.T) {
	var out bytes.Buffer
	d := NewDialogue(testNonce, &out, Events{})
	for _, piece := range []string{started(), "\x01", "c", "$", " ", "\x01cage"} {
		if _, err := d.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
		if piece == "$" && out.String() != "\x01c$" {
			t.Errorf("after the first byte that differs, %q is out", out.String())
		}
	}
	if got, want := out.String(), "\x01c$ \x01cage"; got != want {
		t.Errorf("out %q before Close, want %q", got, want)
	}
}

func TestWriteReturnsErrors(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name   string
		in     string
		events Events
		out    error
	}{
		{"of ready", started(), Events{Ready: func([]cabundle.ID) error { return boom }}, nil},
		{"of go", started(), Events{Go: func() error { return boom }}, nil},
		{"of the output", started() + "x", Events{}, boom},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDialogue(testNonce, brokenWriter{tt.out}, tt.events)
			if _, err := d.Write([]byte(tt.in)); !errors.Is(err, boom) {
				t.Errorf("error %v, want %v", err, boom)
			}
		})
	}
	d := NewDialogue(testNonce, brokenWriter{}, Events{})
	var fault *exitstatus.Fault
	if _, err := d.Write([]byte("sh: not found")); !errors.As(err, &fault) {
		t.Errorf("foreign bytes give the error %v, want a fault", err)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

func TestMessagesAreShortASCII(t *testing.T) {
	long := strings.Repeat("é\n\x10\x11\xff", 1<<20)
	msg := said(func(b *Box) {
		b.Ready(nil)
		b.Progress(long)
		b.Fault(exitstatus.Faultf(exitstatus.EngineStartFailed, "%s", long))
		b.ExecFailed(testNonce, exitstatus.Faultf(exitstatus.EngineStartFailed, "%s", long))
	})
	if len(msg) > 200<<10 {
		t.Errorf("messages of %d bytes", len(msg))
	}
	for _, c := range []byte(msg) {
		if c >= 0x7f || c < 0x20 && c != magic[0] {
			t.Fatalf("a message holds the byte %#x", c)
		}
	}
	got := feed(t, []byte(msg))
	if got.Fault == "" || strings.Contains(got.Fault, "entry point") {
		t.Errorf("long messages end as %+v", got)
	}
}

// TestTrusted: what the image has arrives, as far as a message can hold it.
func TestTrusted(t *testing.T) {
	var ids []cabundle.ID
	for i := range maxTrusted + 1 {
		ids = append(ids, cabundle.ID{byte(i), byte(i >> 8)})
	}
	var got []cabundle.ID
	d := NewDialogue(testNonce, io.Discard, Events{Ready: func(trusted []cabundle.ID) error {
		got = trusted
		return nil
	}})
	if _, err := io.WriteString(d, said(func(b *Box) { b.Ready(ids) })); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ids[:maxTrusted], got); diff != "" {
		t.Error(diff)
	}
}
