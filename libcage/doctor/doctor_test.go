package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/image"
	"github.com/agent-cage/agent-cage/libcage/lifecycle"
)

// world is a patient whose every part a test can break.
type world struct {
	env        map[string]string
	home       string
	openErr    error
	endpoint   engine.Endpoint
	info       engine.Info
	infoErr    error
	stored     []string
	containers []engine.Container

	kernel   string
	uid      int
	settings map[string]string
	socket   error
	userns   error
	idmap    error
	devices  map[string]error
	nodes    []string
	free     uint64

	now     time.Time
	hostErr error
}

func healthy(t *testing.T) *world {
	t.Helper()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	w := &world{
		env:      map[string]string{"ANTHROPIC_API_KEY": "sk-ant-secret-of-the-test"},
		home:     t.TempDir(),
		endpoint: engine.Endpoint{Host: "unix:///var/run/docker.sock", Source: "the default socket"},
		info: engine.Info{
			ServerVersion: "20.10.24", APIVersion: "1.41", OS: "linux", Arch: runtime.GOARCH, KernelVersion: "6.1.0",
			CgroupVersion: "2", Seccomp: true, RootDir: "/var/lib/docker", Time: now,
		},
		stored:   []string{"cage-base", "claude-box"},
		kernel:   "6.1.0",
		uid:      1000,
		settings: map[string]string{"user.max_user_namespaces": "1000"},
		devices:  map[string]error{},
		free:     100 << 30,
		now:      now,
	}
	libexec := t.TempDir()
	w.env[image.LibexecVar] = libexec
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cage-init", "sbox", "cage-gate"} {
		if err := os.Symlink(self, filepath.Join(libexec, name)); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) patient() *Patient {
	p := &Patient{
		Getenv: func(name string) string { return w.env[name] },
		Home:   w.home, Dir: w.home, Executable: "/usr/local/bin/cage",
		Harnesses: []Harness{{
			Label: "claude-box", Image: "claude-box",
			LoginFiles: []string{".claude-box/state/.credentials.json"}, LoginVars: []string{"ANTHROPIC_API_KEY"},
		}},
		Open:    func(context.Context) (Engine, error) { return w, w.openErr },
		Machine: machine{w},
		Now:     func() time.Time { return w.now },
		HostErr: w.hostErr,
	}
	if w.hostErr == nil {
		p.Host = &lifecycle.Host{
			Self:    lifecycle.Launcher{Machine: "m", Boot: "b", UID: 1000, PID: 1, Start: "1"},
			StartOf: func(int) (string, error) { return "", lifecycle.ErrNoProcess },
		}
	}
	return p
}

func (w *world) Endpoint() engine.Endpoint                 { return w.endpoint }
func (w *world) Info(context.Context) (engine.Info, error) { return w.info, w.infoErr }

func (w *world) Images(context.Context, ...string) (map[string]engine.Image, error) {
	found := map[string]engine.Image{}
	for _, ref := range w.stored {
		found[ref] = engine.Image{Ref: ref}
	}
	return found, nil
}

func (w *world) List(context.Context, map[string]string) ([]engine.Container, error) {
	return w.containers, nil
}

func otherArch() string {
	if runtime.GOARCH == "amd64" {
		return "arm64"
	}
	return "amd64"
}

// machine is the world's machine.
type machine struct{ *world }

func (m machine) Kernel() string { return m.kernel }
func (m machine) UID() int       { return m.uid }
func (m machine) Glob(pattern string) []string {
	return slices.DeleteFunc(slices.Clone(m.nodes), func(n string) bool { ok, _ := filepath.Match(pattern, n); return !ok })
}
func (m machine) OpenDevice(path string) error     { return m.devices[path] }
func (m machine) DialSocket(string) error          { return m.socket }
func (m machine) MakeUserNamespace() error         { return m.userns }
func (m machine) IdmapMount(string) error          { return m.idmap }
func (m machine) FreeBytes(string) (uint64, error) { return m.free, nil }
func (m machine) ReadFile(path string) (string, error) {
	name := strings.ReplaceAll(strings.TrimPrefix(path, "/proc/sys/"), "/", ".")
	value, ok := m.settings[name]
	if !ok {
		return "", fs.ErrNotExist
	}
	return value + "\n", nil
}

func TestHealthyMachine(t *testing.T) {
	findings := Examine(t.Context(), healthy(t).patient())
	seen := map[string]bool{}
	for _, f := range findings {
		seen[f.Code] = true
		// This test's own program stands for those of a box, and is none
		// elsewhere; a Mac's certificates are in no file.
		if f.Severity != OK && runtime.GOOS == "linux" {
			t.Errorf("%+v", f)
		}
	}
	for _, code := range []string{
		"endpoint", "engine", "api", "clock", "kernel", "cgroup", "apparmor", "seccomp", "userns", "idmap", "tun", "fuse",
		"gpu", "disk-engine", "disk-home", "ca", "proxy", "binaries", "images", "login-claude-box", "orphans",
	} {
		if !seen[code] {
			t.Errorf("%s was not looked at", code)
		}
	}
}

var unreachable = &engine.UnreachableError{Err: errors.New("cannot connect")}

func TestFindings(t *testing.T) {
	tests := []struct {
		name   string
		breaks func(*world)
		code   string
		want   Severity
		// fix is a part of it.
		fix string
	}{
		{"no such context", func(w *world) { w.openErr = errors.New("no such context") }, "endpoint", Problem, "docker context ls"},
		{"engine down", func(w *world) { w.infoErr, w.socket = unreachable, syscall.ECONNREFUSED }, "engine", Problem, "start the engine"},
		{"no socket", func(w *world) { w.infoErr, w.socket = unreachable, fs.ErrNotExist }, "engine", Problem, "start the engine"},
		{"engine hangs", func(w *world) { w.infoErr = unreachable }, "engine", Problem, "docker info"},
		{"remote engine down", func(w *world) { w.endpoint.Host, w.infoErr = "tcp://a:2375", unreachable }, "engine", Problem, "docker info"},
		{"socket of others", func(w *world) { w.infoErr, w.socket = unreachable, fs.ErrPermission }, "engine", Problem, "usermod -aG docker"},
		{"old engine", func(w *world) { w.infoErr = &engine.VersionError{Version: "1.39"} }, "engine", Problem, "20.10"},
		{"windows containers", func(w *world) { w.info.OS = "windows" }, "engine-os", Problem, "Linux containers"},
		{"engine warns", func(w *world) { w.info.Warnings = []string{"WARNING: No swap limit support"} }, "engine-warning", Note, ""},
		{"clock, a little", func(w *world) { w.info.Time = w.now.Add(-time.Minute) }, "clock", Warning, "NTP"},
		{"clock, a lot", func(w *world) { w.info.Time = w.now.Add(time.Hour) }, "clock", Problem, "NTP"},
		{"clock not told", func(w *world) { w.info.Time = time.Time{} }, "clock", Note, ""},
		{"cgroup 1", func(w *world) { w.info.CgroupVersion = "1" }, "cgroup", Note, "unified_cgroup_hierarchy"},
		{"no seccomp", func(w *world) { w.info.Seccomp = false }, "seccomp", Problem, "CONFIG_SECCOMP_FILTER"},
		{"apparmor", func(w *world) { w.info.AppArmor = true }, "apparmor", OK, ""},
		{"no user namespaces", func(w *world) { w.settings["user.max_user_namespaces"] = "0" }, "userns", Problem, "sysctl -w user.max_user_namespaces"},
		{"no unprivileged ones", func(w *world) { w.settings["kernel.unprivileged_userns_clone"] = "0" }, "userns", Warning, "sysctl -w kernel.unprivileged_userns_clone=1"},
		{"restricted ones", func(w *world) { w.settings["kernel.apparmor_restrict_unprivileged_userns"] = "1" }, "userns", Warning, "=0"},
		{"none can be made", func(w *world) { w.userns = syscall.EPERM }, "userns", Warning, "CONFIG_USER_NS"},
		{"root, overlay", func(w *world) { w.uid, w.idmap = 0, errors.New("its file system cannot do that") }, "idmap", Warning, "ordinary user"},
		{"root, old kernel", func(w *world) { w.uid, w.kernel, w.info.KernelVersion = 0, "5.10.1", "5.10.1" }, "idmap", Problem, "5.12"},
		{"root", func(w *world) { w.uid = 0 }, "idmap", OK, ""},
		{"no idmap, but no root", func(w *world) { w.idmap = syscall.EINVAL }, "idmap", OK, ""},
		{"engine in a VM", func(w *world) { w.info.KernelVersion = "6.6-linuxkit" }, "userns", Note, ""},
		{"no tun", func(w *world) { w.devices["/dev/net/tun"] = fs.ErrNotExist }, "tun", Note, "modprobe tun"},
		{"fuse of others", func(w *world) { w.devices["/dev/fuse"] = fs.ErrPermission }, "fuse", Note, "chmod"},
		{"gpu", func(w *world) { w.nodes = []string{"/dev/nvidia0"} }, "gpu", OK, ""},
		{"disk nearly full", func(w *world) { w.free = 2 << 30 }, "disk-engine", Warning, "cage gc"},
		{"disk full", func(w *world) { w.free = 1 << 20 }, "disk-home", Problem, "remove"},
		{"bundle missing", func(w *world) { w.env["CAGE_CA_BUNDLE"] = "/nowhere.pem" }, "ca", Problem, "PEM"},
		{"proxy on loopback", func(w *world) { w.env["HTTPS_PROXY"] = "http://127.0.0.1:3128" }, "proxy", Warning, "--network host"},
		{"proxy is no URL", func(w *world) { w.env["http_proxy"] = "proxy:3128" }, "proxy", Warning, "http://HOST:PORT"},
		{"proxy", func(w *world) { w.env["http_proxy"] = "http://proxy.example:3128" }, "proxy", OK, ""},
		{"no binaries", func(w *world) { w.env[image.LibexecVar] = w.home }, "binaries", Problem, "make build"},
		{"binaries of another machine", func(w *world) { w.info.Arch = otherArch() }, "binaries", Problem, "linux-" + otherArch()},
		{"no image", func(w *world) { w.stored = nil }, "images", Note, ""},
		{"no login", func(w *world) { delete(w.env, "ANTHROPIC_API_KEY") }, "login-claude-box", Warning, "ANTHROPIC_API_KEY"},
		{"orphan", func(w *world) {
			labels := lifecycle.Launcher{Machine: "m", Boot: "b", UID: 1000, PID: 7, Start: "7"}.Labels()
			labels[lifecycle.LabelKind] = lifecycle.KindBox
			w.containers = []engine.Container{{ID: "x", State: "exited", Labels: labels}}
		}, "orphans", Note, "cage gc"},
		{"no /proc", func(w *world) { w.hostErr = fs.ErrNotExist }, "orphans", Warning, "/proc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := healthy(t)
			tt.breaks(w)
			findings := Examine(t.Context(), w.patient())
			i := slices.IndexFunc(findings, func(f Finding) bool { return f.Code == tt.code && f.Severity == tt.want })
			if i < 0 {
				t.Fatalf("no %s of %s in %+v", tt.want, tt.code, findings)
			}
			f := findings[i]
			if !strings.Contains(f.Fix, tt.fix) || strings.Contains(f.Text+f.Fix, "\n") {
				t.Errorf("%+v: want a fix with %q, on one line", f, tt.fix)
			}
			if tt.want == Problem && !Broken(findings) {
				t.Error("a problem is not broken")
			}
		})
	}
}

// Problems and warnings say what to do, and no secret is repeated.
func TestEveryFindingIsFitToPrint(t *testing.T) {
	w := healthy(t)
	w.env["HTTPS_PROXY"] = "http://user:s3cret-pass@127.0.0.1:3128"
	w.env["http_proxy"] = "user:s3cret-pass@proxy"
	w.settings["user.max_user_namespaces"] = "0"
	w.free, w.info.Seccomp, w.info.Time = 0, false, w.now.Add(time.Hour)
	for _, f := range Examine(t.Context(), w.patient()) {
		if strings.Contains(f.Text+f.Fix, "s3cret-pass") || strings.Contains(f.Text+f.Fix, w.env["ANTHROPIC_API_KEY"]) {
			t.Errorf("a secret: %+v", f)
		}
		if (f.Severity == Problem || f.Severity == Warning) && f.Fix == "" {
			t.Errorf("no fix: %+v", f)
		}
	}
}

func TestLoginByFile(t *testing.T) {
	w := healthy(t)
	delete(w.env, "ANTHROPIC_API_KEY")
	file := filepath.Join(w.home, ".claude-box/state/.credentials.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	severity := func() Severity {
		for _, f := range Examine(t.Context(), w.patient()) {
			if f.Code == "login-claude-box" {
				return f.Severity
			}
		}
		return ""
	}
	if err := os.Symlink("/etc/passwd", file); err != nil {
		t.Fatal(err)
	}
	if got := severity(); got != Warning {
		t.Errorf("a link counts as a login: %s", got)
	}
	if err := errors.Join(os.Remove(file), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := severity(); got != Warning {
		t.Errorf("an empty file counts as a login: %s", got)
	}
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := severity(); got != OK {
		t.Errorf("got %s", got)
	}
}

func TestKernelAtLeast(t *testing.T) {
	for release, want := range map[string]bool{
		"5.12.0": true, "5.11.22-generic": false, "6.1": true, "4.19.0": false, "5.12-rc1": true, "5.9": false, "": true, "x.y": true,
	} {
		if got := kernelAtLeast(release, 5, 12); got != want {
			t.Errorf("%q: got %v", release, got)
		}
	}
}
