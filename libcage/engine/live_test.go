package engine

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

// testImage has a shell as its command.
const testImage = "debian:trixie-slim"

type calls struct {
	mu   sync.Mutex
	list []string
}

func (c *calls) add(call string, _ time.Duration, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, call)
}

func liveEngine(t *testing.T, trace func(string, time.Duration, error)) *Client {
	t.Helper()
	c, err := Open(t.Context(), Options{Getenv: os.Getenv, Home: os.Getenv("HOME"), Trace: trace})
	if err != nil {
		t.Skipf("the engine test needs an engine: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Image(t.Context(), testImage); err != nil {
		t.Skipf("the engine test needs an engine with the image %s: %v", testImage, err)
	}
	return c
}

func testPlan(t *testing.T) *plan.Plan {
	return &plan.Plan{
		Name:     "engine-test-" + strings.ToLower(rand.Text()[:10]),
		Hostname: "box",
		Image:    plan.Image{Ref: testImage},
		Init:     "/bin/sh",
		Labels:   map[string]string{"dev.agent-cage.kind": "probe", "dev.agent-cage.test": t.Name()},
		Network:  plan.Network{Mode: "none"},
	}
}

func create(t *testing.T, c *Client, p *plan.Plan) string {
	t.Helper()
	id, _, err := c.Create(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Remove(context.Background(), id, true); err != nil {
			t.Error(err)
		}
	})
	return id
}

// run starts the plan's shell with the script as its input and returns what it
// printed and how it ended.
func run(t *testing.T, c *Client, p *plan.Plan, script string) (stdout, stderr string, exit Exit, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	id = create(t, c, p)
	a, err := c.Attach(ctx, id, p.Terminal.TTY)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	exited, err := c.Wait(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(ctx, id, p); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(a.Stdin(), script); err != nil {
		t.Fatal(err)
	}
	if err := a.CloseStdin(); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	if err := a.Copy(&out, &errOut); err != nil {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), <-exited, id
}

func TestStreamsAndStatus(t *testing.T) {
	var seen calls
	c := liveEngine(t, seen.add)
	seen.list = nil
	stdout, stderr, exit, id := run(t, c, testPlan(t), "echo out; echo err >&2; exit 125\n")
	if stdout != "out\n" || stderr != "err\n" || exit != (Exit{Status: 125}) {
		t.Errorf("got %q, %q, %+v", stdout, stderr, exit)
	}
	want := []string{"ContainerCreate", "ContainerAttach", "ContainerWait", "ContainerStart"}
	if diff := cmp.Diff(want, seen.list); diff != "" {
		t.Errorf("calls of a launch: %s", diff)
	}
	state, err := c.Inspect(t.Context(), id)
	if err != nil || state.Running || state.ExitCode != 125 || state.OOMKilled {
		t.Errorf("state %+v, %v", state, err)
	}
	if err := c.Signal(t.Context(), id, "TERM"); !errors.Is(err, ErrConflict) {
		t.Errorf("signal to a box that ended: %v", err)
	}
}

// The engine's default detach keys would withhold the first byte and end the
// attachment at the second.
func TestControlPQReachATerminal(t *testing.T) {
	c := liveEngine(t, nil)
	p := testPlan(t)
	p.Terminal = plan.Terminal{TTY: true, Stdin: true}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	id := create(t, c, p)
	a, err := c.Attach(ctx, id, true)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	context.AfterFunc(ctx, func() { a.Close() })
	if err := c.Start(ctx, id, p); err != nil {
		t.Fatal(err)
	}
	if err := c.Resize(ctx, id, 33, 77); err != nil {
		t.Error(err)
	}
	// One byte is read per call, so a withheld byte would hang the script.
	script := "stty size; stty raw -echo; echo ready; dd bs=1 count=1 2>/dev/null | od -An -tx1; echo next; dd bs=1 count=2 2>/dev/null | od -An -tx1; exit\n"
	if _, err := a.Write([]byte(script)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	got := make(chan error, 1)
	lines := &watcher{buf: &out, at: map[string]func(){
		"\nready": func() { _, _ = a.Write([]byte{0x10}) },
		"\nnext":  func() { _, _ = a.Write([]byte{0x10, 0x11}) },
	}}
	go func() { got <- a.Copy(lines, io.Discard) }()
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"33 77", " 10", " 10 11"} {
		if !strings.Contains(text, want) {
			t.Errorf("the terminal did not print %q: %q", want, text)
		}
	}
}

// watcher acts once when a text has been written.
type watcher struct {
	buf *bytes.Buffer
	at  map[string]func()
}

func (w *watcher) Write(p []byte) (int, error) {
	w.buf.Write(p)
	for text, act := range w.at {
		if bytes.Contains(w.buf.Bytes(), []byte(text)) {
			delete(w.at, text)
			act()
		}
	}
	return len(p), nil
}

// What the engine says of a created box is what the plan said, field by field.
func TestInspectEqualsPlan(t *testing.T) {
	c := liveEngine(t, nil)
	odd := filepath.Join(t.TempDir(), "a b,c:d'\"é=ro")
	if err := os.Mkdir(odd, 0o755); err != nil {
		t.Fatal(err)
	}
	plain := testPlan(t)
	full := testPlan(t)
	full.Name += "-full"
	full.Mounts = []plan.Mount{
		{Source: odd, Target: odd},
		{Source: odd, Target: "/read only", ReadOnly: true},
	}
	full.Tmpfs = []plan.Tmpfs{
		{Target: "/run/agent-cage", SizeBytes: 1 << 20, Mode: 0o755},
		{Target: "/scratch", Mode: 0o1777},
	}
	full.Security = plan.Security{
		CapAdd:     []plan.Capability{{Name: "CHOWN"}, {Name: "SETUID"}},
		Seccomp:    `{"defaultAction":"SCMP_ACT_ALLOW"}`,
		UnmaskProc: true,
		Runtime:    "runc",
	}
	full.Network.Mode = "bridge"
	full.Limits = plan.Limits{MemoryBytes: 256 << 20, NanoCPUs: 1_500_000_000, PidsLimit: 77}
	full.Terminal = plan.Terminal{TTY: true, Stdin: true}
	privileged := testPlan(t)
	privileged.Name += "-privileged"
	privileged.Security.Privileged = true
	for _, p := range []*plan.Plan{plain, full, privileged} {
		t.Run(p.Name, func(t *testing.T) {
			raw, err := c.api.ContainerInspect(t.Context(), create(t, c, p))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(expected(p), actual(raw)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// facts are what a plan decides of a container, in the plan's terms.
type facts struct {
	Name, Hostname, Image, User       string
	Entry, Health                     []string
	Labels                            map[string]string
	TTY, StdinOpen, StdinOnce         bool
	Streams                           [3]bool
	Env, Cmd                          int
	Mounts                            []plan.Mount
	Tmpfs                             []plan.Tmpfs
	CapAdd, CapDrop, SecurityOpt      []string
	Privileged, Init, AutoRemove      bool
	ProcMasked                        bool
	Runtime, Network, LogDriver       string
	Memory, CPUs, Pids                int64
	Binds, Devices, Ports, VolumesFrm int
	RestartPolicy                     string
}

func expected(p *plan.Plan) facts {
	f := facts{
		Name: "/" + p.Name, Hostname: p.Hostname, Image: p.Image.Ref, Labels: p.Labels,
		TTY: p.Terminal.TTY, StdinOpen: true, StdinOnce: true, Streams: [3]bool{true, true, true},
		// Of the image, which has a command and no variable, nothing.
		Entry: []string{p.Init}, User: "0:0", Health: []string{"NONE"},
		Mounts: p.Mounts, Tmpfs: p.Tmpfs,
		Privileged: p.Security.Privileged,
		ProcMasked: !p.Security.UnmaskProc && !p.Security.Privileged,
		Runtime:    p.Security.Runtime, Network: p.Network.Mode, LogDriver: "none",
		Memory: p.Limits.MemoryBytes, CPUs: p.Limits.NanoCPUs, Pids: p.Limits.PidsLimit,
	}
	if f.Runtime == "" {
		f.Runtime = "runc"
	}
	if !p.Security.Privileged {
		f.CapDrop = []string{"ALL"}
	}
	for _, capability := range p.Security.CapAdd {
		f.CapAdd = append(f.CapAdd, "CAP_"+capability.Name)
	}
	if p.Security.Seccomp != "" {
		f.SecurityOpt = append(f.SecurityOpt, "seccomp="+p.Security.Seccomp)
	}
	if p.Security.Privileged {
		// The engine's own addition.
		f.SecurityOpt = append(f.SecurityOpt, "label=disable")
	}
	return f
}

func actual(raw container.InspectResponse) facts {
	hc := raw.HostConfig
	f := facts{
		Name: raw.Name, Hostname: raw.Config.Hostname, Image: raw.Config.Image, Labels: raw.Config.Labels,
		TTY: raw.Config.Tty, StdinOpen: raw.Config.OpenStdin, StdinOnce: raw.Config.StdinOnce,
		Streams: [3]bool{raw.Config.AttachStdin, raw.Config.AttachStdout, raw.Config.AttachStderr},
		Cmd:     len(raw.Config.Cmd), Env: len(raw.Config.Env),
		Entry: raw.Config.Entrypoint, User: raw.Config.User,
		CapAdd: hc.CapAdd, CapDrop: hc.CapDrop, SecurityOpt: hc.SecurityOpt,
		Privileged: hc.Privileged, Init: hc.Init == nil || *hc.Init, AutoRemove: hc.AutoRemove,
		ProcMasked: len(hc.MaskedPaths) > 0 && len(hc.ReadonlyPaths) > 0,
		Runtime:    hc.Runtime, Network: string(hc.NetworkMode), LogDriver: hc.LogConfig.Type,
		Memory: hc.Memory, CPUs: hc.NanoCPUs,
		Binds: len(hc.Binds), Devices: len(hc.Devices), Ports: len(hc.PortBindings), VolumesFrm: len(hc.VolumesFrom),
	}
	if raw.Config.Healthcheck != nil {
		f.Health = raw.Config.Healthcheck.Test
	}
	if hc.PidsLimit != nil {
		f.Pids = *hc.PidsLimit
	}
	for _, m := range hc.Mounts {
		switch m.Type {
		case mount.TypeBind:
			f.Mounts = append(f.Mounts, plan.Mount{Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly})
		case mount.TypeTmpfs:
			f.Tmpfs = append(f.Tmpfs, plan.Tmpfs{Target: m.Target, SizeBytes: m.TmpfsOptions.SizeBytes, Mode: uint32(m.TmpfsOptions.Mode)})
		}
	}
	return f
}

func TestTmpfsAndMountsInTheBox(t *testing.T) {
	c := liveEngine(t, nil)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := testPlan(t)
	p.Mounts = []plan.Mount{{Source: dir, Target: "/in, the:box", ReadOnly: true}}
	p.Tmpfs = []plan.Tmpfs{{Target: "/run/agent-cage", Mode: 0o755, SizeBytes: 1 << 20}}
	out, errOut, exit, _ := run(t, c, p, "cat '/in, the:box/file'; stat -fc %T /run/agent-cage; stat -c %a /run/agent-cage; touch '/in, the:box/x' || echo refused\n")
	if want := "hello\ntmpfs\n755\nrefused\n"; out != want || exit.Err != nil {
		t.Errorf("got %q, want %q (%s, %+v)", out, want, errOut, exit)
	}
}

func TestLaunchProblems(t *testing.T) {
	c := liveEngine(t, nil)
	missing := filepath.Join(t.TempDir(), "missing")
	for name, test := range map[string]struct {
		change func(*plan.Plan)
		want   Problem
	}{
		"mount":        {func(p *plan.Plan) { p.Mounts = []plan.Mount{{Source: missing, Target: "/x"}} }, MountProblem},
		"image":        {func(p *plan.Plan) { p.Image.Ref = "no-such-image:none" }, ImageProblem},
		"runtime":      {func(p *plan.Plan) { p.Security.Runtime = "bogus" }, RuntimeProblem},
		"network":      {func(p *plan.Plan) { p.Network.Mode = "no-such-network" }, NetworkProblem},
		"mount target": {func(p *plan.Plan) { p.Mounts = []plan.Mount{{Source: "/etc/passwd", Target: "/usr"}} }, MountProblem},
	} {
		t.Run(name, func(t *testing.T) {
			p := testPlan(t)
			test.change(p)
			id, _, err := c.Create(t.Context(), p)
			if err == nil {
				defer c.Remove(context.Background(), id, true)
				err = c.Start(t.Context(), id, p)
			}
			var launch *LaunchError
			if !errors.As(err, &launch) || launch.Problem != test.want {
				t.Errorf("%T %v", err, err)
			}
		})
	}
	if _, err := os.Lstat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Error("the engine made the missing source of a mount")
	}
	t.Run("name", func(t *testing.T) {
		p := testPlan(t)
		create(t, c, p)
		_, _, err := c.Create(t.Context(), p)
		var launch *LaunchError
		if !errors.As(err, &launch) || launch.Problem != NameProblem || !errors.Is(err, ErrConflict) {
			t.Errorf("%v", err)
		}
	})
}

func TestExec(t *testing.T) {
	c := liveEngine(t, nil)
	p := testPlan(t)
	id := create(t, c, p)
	if err := c.Start(t.Context(), id, p); err != nil {
		t.Fatal(err)
	}
	e, err := c.Exec(t.Context(), id, ExecSpec{Argv: []string{"sh", "-c", "cat; id -u; exit 7"}, User: "1000", Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := io.WriteString(e.Stdin(), "in\n"); err != nil {
		t.Fatal(err)
	}
	if err := e.CloseStdin(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := e.Copy(&out, &out); err != nil {
		t.Fatal(err)
	}
	status, err := e.ExitStatus(t.Context())
	if out.String() != "in\n1000\n" || status != 7 || err != nil {
		t.Errorf("%q, %d, %v", out.String(), status, err)
	}
}

func TestListByLabels(t *testing.T) {
	c := liveEngine(t, nil)
	p := testPlan(t)
	id := create(t, c, p)
	list, err := c.List(t.Context(), map[string]string{"dev.agent-cage.kind": "", "dev.agent-cage.test": t.Name()})
	if err != nil || len(list) != 1 || list[0].ID != id || list[0].Name != p.Name || list[0].State != "created" {
		t.Errorf("%+v, %v", list, err)
	}
	none, err := c.List(t.Context(), map[string]string{"dev.agent-cage.test": "other"})
	if err != nil || len(none) != 0 {
		t.Errorf("%+v, %v", none, err)
	}
	if err := c.Remove(t.Context(), id, false); err != nil {
		t.Error(err)
	}
	if _, err := c.Inspect(t.Context(), id); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestInfoAndImages(t *testing.T) {
	var seen calls
	c := liveEngine(t, seen.add)
	info, err := c.Info(t.Context())
	if err != nil || info.ID == "" || info.OS != "linux" || info.Arch == "" || info.KernelVersion == "" || !slices.Contains(info.Runtimes, "runc") {
		t.Errorf("%+v, %v", info, err)
	}
	seen.list = nil
	images, err := c.Images(t.Context(), testImage, "no-such-image")
	if err != nil || len(images) != 1 || !strings.HasPrefix(images[testImage].ID, "sha256:") {
		t.Errorf("%+v, %v", images, err)
	}
	if diff := cmp.Diff([]string{"ImageList"}, seen.list); diff != "" {
		t.Error(diff)
	}
	if _, err := c.Image(t.Context(), "no-such-image"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
}
