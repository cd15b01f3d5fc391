package bench

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestRunTakesTurns(t *testing.T) {
	var order strings.Builder
	contender := func(name string) *Contender {
		return &Contender{Name: name, Cmd: func() (*exec.Cmd, error) {
			order.WriteString(name)
			return exec.Command("true"), nil
		}}
	}
	all := []*Contender{contender("a"), contender("b")}
	if err := Run(3, all); err != nil {
		t.Fatal(err)
	}
	if order.String() != "abbaabba" {
		t.Errorf("ran %s, want abbaabba", order.String())
	}
	for _, c := range all {
		if len(c.times) != 3 {
			t.Errorf("%s: %d times count, want 3", c.Name, len(c.times))
		}
	}
}

func TestRunStopsAtAFailure(t *testing.T) {
	err := Run(1, []*Contender{{Name: "broken", Cmd: func() (*exec.Cmd, error) {
		return exec.Command("sh", "-c", "echo no such thing >&2; exit 3"), nil
	}}})
	if err == nil || err.Error() != "broken: exit status 3: no such thing" {
		t.Errorf("got %v", err)
	}
}

func TestReport(t *testing.T) {
	base := &Contender{Name: "plain", times: []time.Duration{1e6, 2e6, 4e6, 5e6}}
	other := &Contender{Name: "caged", times: []time.Duration{2e6, 5e6, 6e6, 9e6}}
	var out strings.Builder
	Report(&out, []*Contender{base, other})
	for _, want := range []string{"median    4.00 ms", "median    6.00 ms", "2.00 to    5.00 ms", "1.500 × plain"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}
