package main

import (
	"strings"
	"testing"
	"time"
)

func play(t *testing.T, script string, argv ...string) error {
	t.Helper()
	s, err := open(argv, 12, 34)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.timeout, s.quiet = 5*time.Second, 20*time.Millisecond
	return s.play(script)
}

func TestPlay(t *testing.T) {
	script := `
# a shell that tells its size, takes a line and a signal
wait 12 34
modes found
keys "a"
key "b"
send "c\r"
wait got abc
run kill -0 $PID
signal TERM
end 143
`
	if err := play(t, script, "sh", "-c", `stty size; read x; echo got $x; sleep 60`); err != nil {
		t.Error(err)
	}
}

func TestPlayHangup(t *testing.T) {
	script := `
wait ready
hangup
end 3
`
	if err := play(t, script, "sh", "-c", `trap 'exit 3' HUP; echo ready; while :; do sleep 0.1; done`); err != nil {
		t.Error(err)
	}
}

func TestPlayDeaf(t *testing.T) {
	script := `
wait y
deaf on
pause 100ms
deaf off
signal TERM
end 143
`
	if err := play(t, script, "yes"); err != nil {
		t.Error(err)
	}
}

func TestPlayFails(t *testing.T) {
	tests := []struct{ script, want string }{
		{"end 3", "ended with 0"},
		{"wait x\nnever [x]", "has come"},
		{"wait y", "ended without"},
		{"jump", "no such step"},
		{"send unquoted", "invalid syntax"},
		{"signal NONE", "no signal"},
		{"run false", "exit status 1"},
		{"modes some", "no modes"},
	}
	for _, tt := range tests {
		if err := play(t, tt.script, "echo", "x"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %q", tt.script, err, tt.want)
		}
	}
}
