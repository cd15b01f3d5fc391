package lifecycle

import (
	"errors"
	"maps"
	"testing"
	"time"
)

var booted = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// testHost is a machine on which a launcher runs as pid 100, and nothing as
// pid 200.
func testHost() *Host {
	return &Host{
		Self:     Launcher{Machine: "m", Boot: "b", PIDNamespace: "4026531836", UID: 1000, PID: 50, Start: "500"},
		BootTime: booted,
		StartOf: func(pid int) (string, error) {
			switch pid {
			case 50:
				return "500", nil
			case 100:
				return "1000", nil
			case 300:
				return "", errors.New("process 300 is hidden")
			}
			return "", ErrNoProcess
		},
	}
}

func TestJudge(t *testing.T) {
	living := Launcher{Machine: "m", Boot: "b", PIDNamespace: "4026531836", UID: 1000, PID: 100, Start: "1000"}
	dead := living
	dead.PID = 200
	before, after := booted.Add(-time.Hour), booted.Add(time.Hour)
	tests := []struct {
		name    string
		of      Launcher
		change  func(*Launcher, *Host)
		running bool
		created time.Time
		want    Verdict
	}{
		{"runs", living, nil, true, after, Alive},
		{"itself", testHost().Self, nil, true, after, Alive},
		{"runs, box not started yet", living, nil, false, after, Alive},
		{"no such process", dead, nil, true, after, Dead},
		{"no such process, box not started", dead, nil, false, after, Dead},
		{"another process has the pid", living, func(l *Launcher, _ *Host) { l.Start = "999" }, true, after, Dead},
		{"hidden process", living, func(l *Launcher, _ *Host) { l.PID = 300 }, true, after, Unknown},
		{"another user's", dead, func(l *Launcher, _ *Host) { l.UID = 1001 }, true, after, Unknown},
		{"another machine's", dead, func(l *Launcher, _ *Host) { l.Machine = "n" }, true, after, Unknown},
		{"another machine's, stopped", dead, func(l *Launcher, _ *Host) { l.Machine = "n" }, false, before, Unknown},
		{"another pid namespace", dead, func(l *Launcher, _ *Host) { l.PIDNamespace = "4026532000" }, true, after, Unknown},
		{"earlier boot, stopped", living, func(l *Launcher, _ *Host) { l.Boot = "a" }, false, before, Dead},
		{"earlier boot, another namespace", living, func(l *Launcher, _ *Host) { l.Boot, l.PIDNamespace = "a", "1" }, false, before, Dead},
		{"other boot, runs", dead, func(l *Launcher, _ *Host) { l.Boot = "a" }, true, before, Unknown},
		{"other boot, younger than this one: a clone's", dead, func(l *Launcher, _ *Host) { l.Boot = "a" }, false, after, Unknown},
		{"machine without id, this boot", dead, func(l *Launcher, h *Host) { l.Machine, h.Self.Machine = "", "" }, true, after, Dead},
		{"machine without id, other boot", dead, func(l *Launcher, h *Host) { l.Machine, h.Self.Machine, l.Boot = "", "", "a" }, false, before, Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			host, launcher := testHost(), tt.of
			if tt.change != nil {
				tt.change(&launcher, host)
			}
			if got := host.Judge(launcher, tt.running, tt.created); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestLabelsRoundTrip(t *testing.T) {
	want := testHost().Self
	got, ok := ParseLauncher(want.Labels())
	if !ok || got != want {
		t.Errorf("got %+v, %v", got, ok)
	}
	want.Machine = ""
	if got, ok := ParseLauncher(want.Labels()); !ok || got != want {
		t.Errorf("without a machine id: got %+v, %v", got, ok)
	}
}

func TestParseLauncherRefuses(t *testing.T) {
	for name, change := range map[string]func(map[string]string){
		"no uid":       func(l map[string]string) { delete(l, LabelUID) },
		"negative uid": func(l map[string]string) { l[LabelUID] = "-1" },
		"no pid":       func(l map[string]string) { delete(l, LabelPID) },
		"pid 0":        func(l map[string]string) { l[LabelPID] = "0" },
		// kill(-1) is everybody.
		"negative pid": func(l map[string]string) { l[LabelPID] = "-1" },
		"huge pid":     func(l map[string]string) { l[LabelPID] = "99999999999" },
		"no start":     func(l map[string]string) { l[LabelStart] = "" },
		"no boot":      func(l map[string]string) { l[LabelBoot] = "" },
	} {
		labels := maps.Clone(testHost().Self.Labels())
		change(labels)
		if got, ok := ParseLauncher(labels); ok {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
