package handshake

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

func sampleRun() *Run {
	return &Run{
		Nonce: strings.Repeat("0123456789abcdef", 2),
		Plan:  plan.Plan{Label: "claude-box", Project: plan.Project{Dir: "/home/zoë/𝔭"}},
		Argv:  []string{"sh", "-c", "echo \xff\xfe \x7f\n\x10\x11", ""},
		Env:   []string{"A=b", "BIN=\x80", "NL=a\nb", "U=ü€😀"},
		Dir:   "/home/zoë/𝔭",
		Files: []File{
			{Path: "/run/agent-cage/x", Mode: 0o600, Owner: Harness, Content: "\x00\x01\xff"},
			{Path: "/run/agent-cage/y", Mode: 0o644, Owner: Root},
		},
		CABundle: "-----BEGIN CERTIFICATE-----\nAAAA\n",
		Size:     &Size{Rows: 24, Cols: 80},
		Trace:    true,
	}
}

func TestRunRoundTrip(t *testing.T) {
	want := sampleRun()
	var buf bytes.Buffer
	if err := WriteRun(&buf, want); err != nil {
		t.Fatal(err)
	}
	for _, c := range buf.Bytes() {
		if c < 0x20 || c >= 0x7f {
			t.Fatalf("the frame holds the byte %#x, which a terminal or a detach sequence may eat", c)
		}
	}
	buf.WriteString("typed ahead")
	got, err := ReadRun(iotest.OneByteReader(&buf))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("round trip (-want +got):\n%s", diff)
	}
	if rest := buf.String(); rest != "typed ahead" {
		t.Errorf("after the frame %q is left, want the harness's input untouched", rest)
	}
}

func TestReadRunRejects(t *testing.T) {
	var frame bytes.Buffer
	if err := WriteRun(&frame, sampleRun()); err != nil {
		t.Fatal(err)
	}
	good := frame.String()
	var frameErr *FrameError
	tests := []struct {
		name, in string
		is       error
		as       any
	}{
		{"nothing", "", io.EOF, nil},
		{"half a length", "0000", io.ErrUnexpectedEOF, nil},
		{"cut in the body", good[:len(good)/2], io.ErrUnexpectedEOF, nil},
		{"cut in the nonce", good[:len(good)-1], io.ErrUnexpectedEOF, nil},
		{"too large", "ffffffff{}", ErrTooLarge, nil},
		{"no length", "zzzzzzzz{}", nil, &frameErr},
		{"signed length", "-0000001{}", nil, &frameErr},
		{"no JSON", "00000002xx" + sampleRun().Nonce, nil, &frameErr},
		{"no nonce", "00000002{}" + strings.Repeat("z", nonceLen), nil, &frameErr},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadRun(strings.NewReader(tt.in))
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v, want %v", err, tt.is)
			}
			if tt.as != nil && !errors.As(err, tt.as) {
				t.Errorf("error %v (%T), want a *FrameError", err, err)
			}
		})
	}
}

func TestWriteRunBounds(t *testing.T) {
	r := sampleRun()
	r.CABundle = strings.Repeat("x", MaxRun+1)
	if err := WriteRun(io.Discard, r); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
	r = sampleRun()
	r.Nonce = "short"
	if err := WriteRun(io.Discard, r); err == nil {
		t.Error("a run without a nonce was written")
	}
}

func FuzzReadRun(f *testing.F) {
	var frame bytes.Buffer
	if err := WriteRun(&frame, sampleRun()); err != nil {
		f.Fatal(err)
	}
	f.Add(frame.Bytes())
	f.Fuzz(func(t *testing.T, in []byte) {
		run, err := ReadRun(bytes.NewReader(in))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := WriteRun(&again, run); err != nil {
			t.Fatalf("a run that was read cannot be written: %v", err)
		}
		back, err := ReadRun(&again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(run, back); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("plain")
	f.Add("\xff\x00 \u2028 \U0001F600 \ufffd")
	f.Fuzz(func(t *testing.T, s string) {
		doc, err := marshalASCII(text(s))
		if err != nil {
			t.Fatal(err)
		}
		var back text
		if err := back.UnmarshalJSON(doc); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if string(back) != s {
			t.Errorf("%q came back as %q", s, back)
		}
	})
}
