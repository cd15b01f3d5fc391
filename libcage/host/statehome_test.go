package host

import "testing"

func TestStateHome(t *testing.T) {
	for set, want := range map[string]string{
		"":         "/home/a/.local/state/agent-cage",
		"/s":       "/s/agent-cage",
		"relative": "/home/a/.local/state/agent-cage",
		"./here":   "/home/a/.local/state/agent-cage",
	} {
		if got := StateHome(func(string) string { return set }, "/home/a"); got != want {
			t.Errorf("%q: got %s, want %s", set, got, want)
		}
	}
}
