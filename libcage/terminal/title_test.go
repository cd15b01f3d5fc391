package terminal

import "testing"

func TestTitle(t *testing.T) {
	if got, want := SetTitle("xterm-256color", "a\x07\x1b]0;b\u009b"), "\x1b[22;0t\x1b]0;a]0;b\x07"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := RestoreTitle("tmux"); got != "\x1b[23;0t" {
		t.Errorf("got %q", got)
	}
	for _, term := range []string{"", "dumb", "linux", "vt100"} {
		if got := SetTitle(term, "x") + RestoreTitle(term); got != "" {
			t.Errorf("%q would print %q", term, got)
		}
	}
}
