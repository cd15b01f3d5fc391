package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/libcage/doctor"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/lifecycle"
	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/receipt"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// world is an engine and a host on which pid 100 runs and nothing else.
type world struct {
	mu         sync.Mutex
	containers []engine.Container
	images     []engine.Image
	volumes    []engine.Volume
	inUse      string
	// stubborn boxes ignore SIGTERM.
	stubborn map[string]bool
	ended    map[string]chan engine.Exit
	calls    []string
	infoErr  error
}

func (w *world) note(call string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, call)
}

func (w *world) Close() error              { return nil }
func (w *world) Endpoint() engine.Endpoint { return engine.Endpoint{Host: "unix:///sock"} }
func (w *world) Info(context.Context) (engine.Info, error) {
	return engine.Info{OS: "linux", Arch: "amd64", Seccomp: true, Time: now}, w.infoErr
}
func (w *world) Images(context.Context, ...string) (map[string]engine.Image, error) { return nil, nil }

func (w *world) List(_ context.Context, labels map[string]string) ([]engine.Container, error) {
	var list []engine.Container
	for _, c := range w.containers {
		matches := true
		for name, value := range labels {
			matches = matches && c.Labels[name] == value
		}
		if matches {
			list = append(list, c)
		}
	}
	return list, nil
}

func (w *world) Remove(_ context.Context, id string, _ bool) error {
	w.note("remove " + id)
	return nil
}

func (w *world) Wait(_ context.Context, id string) (<-chan engine.Exit, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended[id] = make(chan engine.Exit, 1)
	return w.ended[id], nil
}

func (w *world) Signal(_ context.Context, id, name string) error {
	w.note(name + " " + id)
	w.mu.Lock()
	defer w.mu.Unlock()
	if name == "SIGKILL" || !w.stubborn[id] {
		w.ended[id] <- engine.Exit{Status: 143}
	}
	return nil
}

func (w *world) DanglingImages(_ context.Context, labels map[string]string) ([]engine.Image, error) {
	if labels[lifecycle.LabelKind] != lifecycle.KindBuild {
		return nil, errors.New("images of other hands were asked for")
	}
	return w.images, nil
}

func (w *world) Volumes(context.Context, map[string]string) ([]engine.Volume, error) {
	return w.volumes, nil
}

func (w *world) RemoveVolume(_ context.Context, name string) error {
	return w.RemoveImage(context.Background(), name)
}

func (w *world) RemoveImage(_ context.Context, ref string) error {
	if ref == w.inUse {
		return &inUse{}
	}
	w.note("remove " + ref)
	return nil
}

func (w *world) Exec(context.Context, string, engine.ExecSpec) (*engine.Exec, error) {
	w.note("exec")
	return nil, errors.New("nothing runs in this world")
}

type inUse struct{}

func (*inUse) Error() string        { return "image is being used" }
func (*inUse) Is(target error) bool { return target == engine.ErrConflict }

func (w *world) add(name, state string, pid int, change func(*lifecycle.Launcher)) {
	l := lifecycle.Launcher{Machine: "m", Boot: "b", UID: 1000, PID: pid, Start: "1"}
	if change != nil {
		change(&l)
	}
	labels := lifecycle.BoxLabels("claude-box", "/home/a/app\n")
	labels[lifecycle.LabelPosture] = "none"
	maps.Copy(labels, l.Labels())
	w.containers = append(w.containers, engine.Container{
		ID: strings.Repeat(name, 20), Name: name, State: state, Labels: labels, Created: now.Add(-time.Hour),
	})
}

// run runs cage and returns its status and what it printed.
func run(t *testing.T, w *world, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	w.ended = map[string]chan engine.Exit{}
	home := t.TempDir()
	f := &Factory{
		Args: args, Home: home, Executable: "/usr/local/bin/cage",
		Getenv: func(name string) string {
			return map[string]string{"XDG_STATE_HOME": os.Getenv("CAGE_TEST_STATE")}[name]
		},
		Stdout: &out, Stderr: &errOut, Now: func() time.Time { return now },
		Engine: func(context.Context) (Engine, error) { return w, nil },
		Host: func() (*lifecycle.Host, error) {
			return &lifecycle.Host{
				Self: lifecycle.Launcher{Machine: "m", Boot: "b", UID: 1000, PID: 1, Start: "1"},
				StartOf: func(pid int) (string, error) {
					if pid == 100 {
						return "1", nil
					}
					return "", lifecycle.ErrNoProcess
				},
			}, nil
		},
		Machine: doctor.ThisMachine(),
	}
	status = Main(f)
	return status, out.String(), errOut.String()
}

func id(name string) string { return strings.Repeat(name, 20) }

func TestPs(t *testing.T) {
	w := &world{}
	w.add("alive", "running", 100, nil)
	w.add("dead", "exited", 200, nil)
	w.add("others", "running", 100, func(l *lifecycle.Launcher) { l.UID = 1001 })
	w.add("far", "running", 100, func(l *lifecycle.Launcher) { l.Machine = "n" })
	status, out, _ := run(t, w, "ps")
	if status != 0 || strings.Count(out, "\n") != 3 {
		t.Fatalf("%d: %s", status, out)
	}
	for _, want := range []string{"alive", "dead", `"/home/a/app\n"`, "claude-box", "none", "running", "About an hour", "alive (pid 100)", "dead (pid 200)"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	for _, foreign := range []string{"others", "far"} {
		if strings.Contains(out, foreign) {
			t.Errorf("%q, of somebody else, in %s", foreign, out)
		}
	}
	_, out, _ = run(t, w, "ps", "--json")
	var lines []boxLine
	if err := json.Unmarshal([]byte(out), &lines); err != nil {
		t.Fatal(err)
	}
	want := boxLine{
		Name: "alive", ID: id("alive"), Project: "/home/a/app\n", Harness: "claude-box", Posture: "none", State: "running",
		Created: now.Add(-time.Hour), AgeSeconds: 3600, LauncherPID: 100, Launcher: lifecycle.Alive,
	}
	if diff := cmp.Diff(want, lines[0]); diff != "" || len(lines) != 2 {
		t.Errorf("%d lines, %s", len(lines), diff)
	}
	if _, out, _ = run(t, &world{}, "ps", "--json"); out != "[]\n" {
		t.Errorf("no boxes: %q", out)
	}
}

func TestStop(t *testing.T) {
	tests := []struct {
		name   string
		args   []string
		status int
		want   []string
		stdout string
	}{
		{"living launcher removes", []string{"alive"}, 0, []string{"SIGTERM alive"}, "alive\n"},
		{"by id", []string{id("alive")[:12]}, 0, []string{"SIGTERM alive"}, "alive\n"},
		{"dead launcher does not", []string{"dead"}, 0, []string{"SIGTERM dead", "remove dead"}, "dead\n"},
		{"stubborn", []string{"hard", "-t", "10ms"}, 0, []string{"SIGKILL hard", "SIGTERM hard"}, "hard\n"},
		{"created", []string{"created"}, 0, []string{"remove created"}, "created\n"},
		{"all", []string{"--all", "--time", "10ms"}, 0, []string{"SIGKILL hard", "SIGTERM alive", "SIGTERM dead", "SIGTERM hard", "remove created", "remove dead"}, "alive\ncreated\ndead\nhard\n"},
		{"another user's", []string{"others"}, 1, nil, ""},
		{"a container that is no box", []string{"stranger"}, 1, nil, ""},
		{"nothing named", nil, 1, nil, ""},
		{"both named", []string{"alive", "--all"}, 1, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &world{stubborn: map[string]bool{id("hard"): true}}
			w.add("alive", "running", 100, nil)
			w.add("created", "created", 100, nil)
			w.add("dead", "running", 200, nil)
			w.add("hard", "running", 100, nil)
			w.add("others", "running", 100, func(l *lifecycle.Launcher) { l.UID = 1001 })
			w.containers = append(w.containers, engine.Container{ID: "stranger", Name: "stranger", State: "running"})
			status, out, errOut := run(t, w, append([]string{"stop"}, tt.args...)...)
			if status != tt.status || out != tt.stdout || (status == 0) != (errOut == "") {
				t.Errorf("status %d, stdout %q, stderr %q", status, out, errOut)
			}
			var got []string
			for _, call := range w.calls {
				what, of, _ := strings.Cut(call, " ")
				got = append(got, what+" "+of[:len(of)/20])
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGC(t *testing.T) {
	state := t.TempDir()
	t.Setenv("CAGE_TEST_STATE", state)
	store := receipt.Store{Dir: filepath.Join(state, "agent-cage", "receipts")}
	write := func(name string, age time.Duration) string {
		path, err := store.Write(receipt.Receipt{Started: now.Add(-age), Plan: &plan.Plan{Name: name}})
		if err == nil {
			err = os.Chtimes(path, now.Add(-age), now.Add(-age))
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	old, fresh := write("old", 31*24*time.Hour), write("fresh", time.Hour)
	w := &world{inUse: "sha256:" + strings.Repeat("b", 64)}
	w.images = []engine.Image{{ID: "sha256:" + strings.Repeat("a", 64), SizeBytes: 1500e6}, {ID: w.inUse, SizeBytes: 1e6}}
	w.volumes = []engine.Volume{
		{Name: "v-gone", Labels: map[string]string{lifecycle.LabelKind: "engine-cache", lifecycle.LabelProject: state + "/gone"}},
		{Name: "v-there", Labels: map[string]string{lifecycle.LabelKind: "engine-cache", lifecycle.LabelProject: state}},
	}
	w.add("alive", "running", 100, nil)
	w.add("dead", "exited", 200, nil)

	status, out, _ := run(t, w, "gc")
	if status != 0 || len(w.calls) != 0 {
		t.Fatalf("status %d, calls %q: want nothing removed without --yes", status, w.calls)
	}
	for _, want := range []string{"box      dead", "image    aaaaaaaaaaaa (1.5GB", "receipt  ", "-old ", "volume   v-gone (engine-cache, ", "1 box, 1 volume, 2 images (1.501GB at most), 1 receipt", "--yes"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if strings.Contains(out, "alive") || strings.Contains(out, "fresh") || strings.Contains(out, "v-there") {
		t.Errorf("what is of use: %s", out)
	}

	status, out, _ = run(t, w, "gc", "--yes")
	if status != 0 || !strings.Contains(out, "removed: 1 box, 1 volume, 1 image (1.5GB at most), 1 receipt") || !strings.Contains(out, "kept: image bbbbbbbbbbbb") {
		t.Errorf("status %d: %s", status, out)
	}
	if diff := cmp.Diff([]string{"remove " + id("dead"), "remove v-gone", "remove " + w.images[0].ID}, w.calls); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old receipt: %v", err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("the fresh receipt: %v", err)
	}
}

func TestReceipts(t *testing.T) {
	state := t.TempDir()
	t.Setenv("CAGE_TEST_STATE", state)
	store := receipt.Store{Dir: filepath.Join(state, "agent-cage", "receipts")}
	for i, name := range []string{"first", "second"} {
		start := now.Add(time.Duration(i) * time.Minute)
		_, err := store.Write(receipt.Receipt{
			Started: start, Ended: start.Add(1500 * time.Millisecond),
			Plan: &plan.Plan{Name: name, Project: plan.Project{Dir: "/home/a/app"}},
			Exit: receipt.Exit{Status: 124, Fault: &receipt.Fault{Kind: "timeout"}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(store.Dir, "0.json"), []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, errOut := run(t, &world{}, "receipts", "list")
	lines := strings.Split(out, "\n")
	if status != 0 || len(lines) != 4 || !strings.Contains(lines[1], "second") || !strings.Contains(lines[1], "1.5s") ||
		!strings.Contains(lines[1], "124 timeout") || !strings.Contains(lines[1], "/home/a/app") || !strings.Contains(errOut, "skipped") {
		t.Errorf("status %d: %s%s", status, out, errOut)
	}
	if _, out, _ := run(t, &world{}, "receipts", "list", "--limit", "1", "--json"); strings.Count(out, `"schema"`) != 1 {
		t.Errorf("limit 1: %s", out)
	}
	var shown receipt.Receipt
	if _, out, _ := run(t, &world{}, "receipts", "show", "first"); json.Unmarshal([]byte(out), &shown) != nil || shown.Plan.Name != "first" {
		t.Errorf("show: %s", out)
	}
	if status, _, errOut := run(t, &world{}, "receipts", "show", "third"); status != 1 || !strings.Contains(errOut, "receipts list") {
		t.Errorf("status %d: %s", status, errOut)
	}
	if status, out, _ := run(t, &world{}, "receipts", "prune", "--older-than", "-1h"); status != 1 {
		t.Errorf("status %d: %s", status, out)
	}
	if list, _ := store.List(); len(list) != 3 {
		t.Errorf("left: %v", list)
	}
}

func TestDoctorStatus(t *testing.T) {
	w := &world{infoErr: &engine.UnreachableError{Endpoint: "unix:///sock", Err: errors.New("cannot connect")}}
	status, out, errOut := run(t, w, "doctor")
	if status != 1 || errOut != "" || !strings.Contains(out, "fix: start the engine") {
		t.Errorf("status %d: %s%s", status, out, errOut)
	}
	_, out, _ = run(t, w, "doctor", "--json")
	var findings []doctor.Finding
	if err := json.Unmarshal([]byte(out), &findings); err != nil || !doctor.Broken(findings) {
		t.Errorf("%v: %s", err, out)
	}
}

func TestCompletions(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if status, out, _ := run(t, &world{}, "completion", shell); status != 0 || !strings.Contains(out, "cage") {
			t.Errorf("%s: status %d, %d bytes", shell, status, len(out))
		}
	}
	w := &world{}
	w.add("alive", "running", 100, nil)
	w.add("others", "running", 100, func(l *lifecycle.Launcher) { l.UID = 1001 })
	if _, out, _ := run(t, w, "__complete", "stop", ""); !strings.HasPrefix(out, "alive\n:") {
		t.Errorf("stop: %q", out)
	}
}

// What a command is run with is tried against a real engine.
func TestExecRefuses(t *testing.T) {
	w := &world{}
	w.add("exited", "exited", 100, nil)
	w.add("others", "running", 100, func(l *lifecycle.Launcher) { l.UID = 1001 })
	for _, args := range [][]string{{"exited", "id"}, {"others", "id"}, {"others"}, {}} {
		if status, _, errOut := run(t, w, append([]string{"exec"}, args...)...); status != 1 || errOut == "" || len(w.calls) != 0 {
			t.Errorf("%q: status %d, %q, calls %q", args, status, errOut, w.calls)
		}
	}
}

// Each command hands its parsed options to runF.
func TestOptions(t *testing.T) {
	f := &Factory{}
	var gc GCOptions
	cmd := NewCmdGC(f, func(o *GCOptions) error { gc = *o; return nil })
	cmd.SetArgs([]string{"--yes", "--receipts-older-than", "1h"})
	if err := cmd.Execute(); err != nil || gc != (GCOptions{Yes: true, Age: time.Hour}) {
		t.Errorf("%+v, %v", gc, err)
	}
	var exec ExecOptions
	cmd = NewCmdExec(f, func(o *ExecOptions) error { exec = *o; return nil })
	cmd.SetArgs([]string{"box", "ls", "-l", "--", "--all"})
	if err := cmd.Execute(); err != nil || exec.Name != "box" || !slices.Equal(exec.Argv, []string{"ls", "-l", "--", "--all"}) {
		t.Errorf("%+v, %v", exec, err)
	}
	var stop StopOptions
	cmd = NewCmdStop(f, func(o *StopOptions) error { stop = *o; return nil })
	cmd.SetArgs([]string{"box"})
	if err := cmd.Execute(); err != nil || stop != (StopOptions{Name: "box", Grace: defaultGrace}) {
		t.Errorf("%+v, %v", stop, err)
	}
}
