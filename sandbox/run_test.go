//go:build linux

package sandbox

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOrderTravels(t *testing.T) {
	for _, o := range []*order{
		{Stderr: 9, Mask: 1<<63 | 1, Ignored: 1 << 12, Dir: "/a b", Args: []string{"x"}},
		{Stderr: 3, Dir: "/", Args: []string{"", "a\nb", "\xff"}, Env: []string{"A=1", "B="},
			Mounts: []planned{
				{Mount: Mount{Kind: Pin, Source: "/p", Target: "/p", Checked: true}, Dev: 1 << 40, Ino: 2},
				{Mount: Mount{Kind: Empty, Target: "/q\n", Perms: 0o1777}},
				{Mount: Mount{Kind: Overlay, Source: "/c", Target: "/c", Upper: "/u", Work: "/w"}, Ino: 1 << 63},
			}},
	} {
		got, err := decodeOrder(o.encode())
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Env) == 0 {
			got.Env = nil
		}
		if diff := cmp.Diff(o, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDamagedOrder(t *testing.T) {
	whole := (&order{Dir: "/", Args: []string{"x", "y"}, Env: []string{"A=1"}, Mounts: []planned{{Mount: Mount{Kind: ReadOnly, Source: "/p", Target: "/p", Checked: true}, Dev: 1, Ino: 2}}}).encode()
	for n := range whole {
		if o, err := decodeOrder(whole[:n]); err == nil {
			t.Fatalf("%d of %d bytes are an order: %+v", n, len(whole), o)
		}
	}
	for _, s := range []string{
		"0\x000\x000\x00/\x000\x000\x000\x00",                                                     // no command
		"0\x000\x000\x00/\x0099999999999\x00x\x00",                                                // more than there are
		"0\x000\x000\x00/\x00-1\x00x\x000\x000\x00",                                               // fewer than none
		"a\x000\x000\x00/\x001\x00x\x000\x000\x00",                                                // no number
		"0\x000\x000\x00/\x001\x00x\x000\x001\x00pin\x00/p\x00/p\x00\x00\x000\x001\x00z\x001\x00", // no device
	} {
		if o, err := decodeOrder([]byte(s)); err == nil {
			t.Errorf("%q is an order: %+v", s, o)
		}
	}
}

func TestReport(t *testing.T) {
	r := func(s string) *report { return &report{fd: -1, data: []byte(s)} }
	if pid := r("{\"child-pid\": 42}\n").child(); pid != 42 {
		t.Errorf("child %d", pid)
	}
	if status, ran := r("{ \"child-pid\": 42 }\n{ \"exit-code\": 7 }\n").exit(); status != 7 || !ran {
		t.Errorf("status %d, ran %v", status, ran)
	}
	for _, s := range []string{"", "{ \"child-pid\": 42 }\n", "{ \"exit-code\"", "no document"} {
		if status, ran := r(s).exit(); ran {
			t.Errorf("%q: ran, status %d", s, status)
		}
	}
}

func TestOneLine(t *testing.T) {
	got := oneLine("a\x1b]0;x\x07b\nc\u009bd\xffe é")
	if strings.ContainsAny(got, "\x1b\x07\n\u009b") || !strings.HasSuffix(got, "e é") {
		t.Errorf("%q", got)
	}
}
