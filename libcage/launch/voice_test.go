package launch

import (
	"bytes"
	"testing"
)

// TestVoiceSaysLines: a name in a message is no line of its own and no command
// to the terminal.
func TestVoiceSaysLines(t *testing.T) {
	var out bytes.Buffer
	v := voice{w: &out, label: "box", debugging: true}
	v.warn("a\nbox: fault=usage\x1b[31m ü\u202e")
	v.progress("b\r\n")
	v.debug("%s", "c\td")
	want := "[box] WARNING: a\ufffdbox: fault=usage\ufffd[31m ü\ufffd\n[box] b\ufffd\ufffd\n[box] debug: c\ufffdd\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestLinesInRawMode(t *testing.T) {
	var out bytes.Buffer
	l := &lines{w: &out}
	v := voice{w: l, label: "box"}
	for _, raw := range []bool{false, true, false} {
		l.raw.Store(raw)
		v.progress("x")
	}
	if want := "[box] x\n[box] x\r\n[box] x\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
