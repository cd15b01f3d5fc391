package planner

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/face"
	"github.com/agent-cage/agent-cage/libcage/host"
	"github.com/agent-cage/agent-cage/libcage/payload"
	"github.com/agent-cage/agent-cage/libcage/plan"
)

func input(change func(*Input)) Input {
	in := Input{
		Payload: &payload.Payload{
			Label: "toy-box", Prefix: "TOY_BOX", Title: "Toy",
			Image:   payload.Image{Name: "toy-box"},
			Command: []string{"toy", "--loose"},
			Forward: []string{"TOY_KEY"},
			State:   payload.State{Host: ".toy-box/state", Box: ".toy"},
			Env: func(s payload.Session) map[string]string {
				return map[string]string{"TOY_HOME": s.Home + "/.toy", "LANG": "toy"}
			},
		},
		Options:    &face.Options{Engine: plan.None, Args: []string{"-p", "hi"}},
		Caller:     &host.Caller{UID: 501, GID: 20, Name: "ann", Home: "/home/ann"},
		StateOwner: plan.Owner{UID: 501, GID: 20},
		Project:    "/home/ann/src/app",
		Random:     "r",
	}
	if change != nil {
		change(&in)
	}
	return in
}

func decide(t *testing.T, change func(*Input)) *Decision {
	t.Helper()
	d, err := Decide(input(change))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestUser(t *testing.T) {
	tests := []struct {
		name     string
		caller   host.Caller
		asked    *face.User
		uid, gid uint32
		hostUID  uint32
		// shown are the owners whose files are shown as the harness's: of the
		// project, and of the state directory.
		project, state *plan.Owner
		stateOwner     plan.Owner
	}{
		{"ordinary", host.Caller{UID: 1000, GID: 1000}, nil, 1000, 1000, 1000, nil, nil, plan.Owner{UID: 1000, GID: 1000}},
		{"of a Mac", host.Caller{UID: 501, GID: 20}, nil, 501, 20, 501, nil, nil, plan.Owner{UID: 501, GID: 20}},
		{"high", host.Caller{UID: 60000, GID: 60000}, nil, 60000, 60000, 60000, nil, nil, plan.Owner{UID: 60000, GID: 60000}},
		{"nobody", host.Caller{UID: 65534, GID: 65534}, nil, 65534, 65534, 65534, nil, nil, plan.Owner{UID: 65534, GID: 65534}},
		{"root", host.Caller{UID: 0, GID: 0}, nil, 1000, 1000, 0, &plan.Owner{}, &plan.Owner{}, plan.Owner{}},
		{"in root's group", host.Caller{UID: 7, GID: 0}, nil, 7, 1000, 7, &plan.Owner{UID: 7}, &plan.Owner{UID: 7}, plan.Owner{UID: 7}},
		{"root as another", host.Caller{UID: 0, GID: 0}, &face.User{UID: 33, GID: 34}, 33, 34, 33, nil, &plan.Owner{}, plan.Owner{}},
		{"root as one who was given the state", host.Caller{UID: 0, GID: 0}, &face.User{UID: 33, GID: 34}, 33, 34, 33, nil, nil, plan.Owner{UID: 33, GID: 34}},
		{"one user as another", host.Caller{UID: 7, GID: 7}, &face.User{UID: 33, GID: 34}, 33, 34, 33, nil, &plan.Owner{UID: 7, GID: 7}, plan.Owner{UID: 7, GID: 7}},
		{"with another group", host.Caller{UID: 7, GID: 7}, &face.User{UID: 7, GID: 34}, 7, 34, 7, nil, nil, plan.Owner{UID: 7, GID: 7}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.caller.Home, tt.caller.Name = "/home/ann", "ann"
			p := decide(t, func(in *Input) {
				in.Caller, in.Options.User, in.StateOwner = &tt.caller, tt.asked, tt.stateOwner
			}).Plan
			if u := p.User; u.UID != tt.uid || u.GID != tt.gid || u.HostUID != tt.hostUID || u.Reason == "" {
				t.Errorf("got %+v", u)
			}
			for i, want := range []*plan.Owner{tt.project, tt.state} {
				if diff := cmp.Diff(want, p.Mounts[i].Idmap); diff != "" {
					t.Errorf("mount %s: %s", p.Mounts[i].Target, diff)
				}
			}
			admin := slices.ContainsFunc(p.Security.CapAdd, func(c plan.Capability) bool { return c.Name == "SYS_ADMIN" })
			if want := tt.project != nil || tt.state != nil; admin != want {
				t.Errorf("SYS_ADMIN is %t, want %t", admin, want)
			}
		})
	}
}

// On an engine that runs boxes in a user namespace the harness is who the
// caller is in there, and nothing is shown with another owner.
func TestUserNamespace(t *testing.T) {
	tests := []struct {
		name   string
		caller host.Caller
		asked  *face.User
		want   plan.User
		admin  bool
		fault  bool
	}{
		{name: "ordinary", caller: host.Caller{UID: 501, GID: 20}, want: plan.User{UID: 501, GID: 20, HostUID: 501, HostGID: 20, Mapped: true}, admin: true},
		{name: "root", fault: true},
		{name: "in root's group", caller: host.Caller{UID: 7}, fault: true},
		{name: "as another", caller: host.Caller{UID: 0}, asked: &face.User{UID: 33, GID: 34}, want: plan.User{UID: 33, GID: 34, HostUID: 33, HostGID: 34}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.caller.Home, tt.caller.Name = "/home/ann", "ann"
			d, err := Decide(input(func(in *Input) {
				in.Caller, in.Options.User, in.Engine.UserNamespace = &tt.caller, tt.asked, true
				in.StateOwner = plan.Owner{UID: tt.caller.UID, GID: tt.caller.GID}
			}))
			if tt.fault {
				if fault := exitstatus.AsFault(exitstatus.Usage, err); err == nil || fault.Kind != exitstatus.EngineStartFailed || !strings.Contains(err.Error(), "--user UID:GID") {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Name, tt.want.Home, tt.want.Reason = "ann", "/home/ann", d.Plan.User.Reason
			if diff := cmp.Diff(tt.want, d.Plan.User); diff != "" {
				t.Error(diff)
			}
			for _, m := range d.Plan.Mounts {
				if m.Idmap != nil {
					t.Errorf("mount %s is idmapped", m.Target)
				}
			}
			if warned := slices.ContainsFunc(d.Plan.Warnings, func(w string) bool { return strings.HasPrefix(w, "--user: ") }); warned != (tt.asked != nil) {
				t.Errorf("warnings: %q", d.Plan.Warnings)
			}
			admin := slices.ContainsFunc(d.Plan.Security.CapAdd, func(c plan.Capability) bool { return c.Name == "SYS_ADMIN" })
			if admin != tt.admin {
				t.Errorf("SYS_ADMIN is %t, want %t", admin, tt.admin)
			}
		})
	}
}

// Whatever is asked for, the harness is never root, in user or in group.
func TestNeverRoot(t *testing.T) {
	for _, c := range []host.Caller{{}, {UID: 5}, {GID: 5}} {
		u := decide(t, func(in *Input) { c.Home = "/root"; in.Caller = &c }).Plan.User
		if u.UID == 0 || u.GID == 0 {
			t.Errorf("%+v becomes %+v", c, u)
		}
	}
}

func TestMounts(t *testing.T) {
	p := decide(t, func(in *Input) {
		in.GitDir = "/home/ann/src/main/.git"
		in.ExtraMounts = []face.Mount{{Source: "/data, with: all", Target: "/data", ReadOnly: true}}
	}).Plan
	want := []plan.Mount{
		{Source: "/home/ann/src/app", Target: "/home/ann/src/app"},
		{Source: "/home/ann/.toy-box/state", Target: "/home/ann/.toy"},
		{Source: "/home/ann/src/main/.git", Target: "/home/ann/src/main/.git"},
		{Source: "/data, with: all", Target: "/data", ReadOnly: true},
	}
	for i, m := range p.Mounts {
		if m.Reason == "" {
			t.Errorf("%s has no reason", m.Target)
		}
		m.Reason = ""
		if m != want[i] {
			t.Errorf("got %+v, want %+v", m, want[i])
		}
	}
}

func TestMountsRefused(t *testing.T) {
	for target, want := range map[string]string{
		"/":                  "the box's root",
		"/proc":              "its own /proc",
		"/proc/sys":          "its own /proc",
		"/dev/shm":           "its own /dev",
		"/run":               "its own /run/agent-cage",
		"/run/agent-cage/x":  "its own /run/agent-cage",
		"/usr/local/libexec": "its own /usr/local/libexec/agent-cage",
		"/home/ann/src/app":  "taken twice",
		"/home/ann/.toy":     "taken twice",
	} {
		_, err := Decide(input(func(in *Input) { in.ExtraMounts = []face.Mount{{Source: "/x", Target: target}} }))
		var fault *exitstatus.Fault
		if !errors.As(err, &fault) || fault.Kind != exitstatus.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", target, err, want)
		}
	}
}

func TestEnv(t *testing.T) {
	const secret = "s3cret"
	d := decide(t, func(in *Input) {
		in.Environ = []string{
			"TOY_KEY=" + secret, "GH_TOKEN=" + secret, "TERM=xterm", "LC_ALL=de_DE.UTF-8", "https_proxy=http://p:3128",
			"OTHER=no", "MINE=with=equals", "LD_PRELOAD=/evil.so", "HOME=/elsewhere", "PATH=/evil", "LC=no", "SSH_AUTH_SOCK=/s",
		}
		in.Options.ExtraVars = []string{"MINE", "UNSET"}
	})
	want := []string{
		"GH_TOKEN=" + secret, "HOME=/home/ann", "LANG=toy", "LC_ALL=de_DE.UTF-8", "LOGNAME=ann", "MINE=with=equals",
		"PATH=/home/ann/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "SHELL=/bin/bash",
		"TERM=xterm", "TOY_HOME=/home/ann/.toy", "TOY_KEY=" + secret, "USER=ann", "https_proxy=http://p:3128",
	}
	if !slices.Equal(d.Env, want) {
		t.Errorf("got %q, want %q", d.Env, want)
	}
	for i, e := range d.Plan.Env {
		if name, _, _ := strings.Cut(want[i], "="); e.Name != name || e.Reason == "" {
			t.Errorf("got %+v, want %s with a reason", e, name)
		}
	}
}

func TestTimezone(t *testing.T) {
	if got := decide(t, func(in *Input) { in.Timezone = "Asia/Tokyo" }).Env; !slices.Contains(got, "TZ=Asia/Tokyo") {
		t.Errorf("got %q", got)
	}
	for _, host := range []string{"TZ=:/etc/localtime", "TZ=/etc/localtime"} {
		if got := decide(t, func(in *Input) { in.Timezone, in.Environ = "Asia/Tokyo", []string{host} }).Env; !slices.Contains(got, "TZ=Asia/Tokyo") {
			t.Errorf("%s: got %q", host, got)
		}
	}
	got := decide(t, func(in *Input) { in.Timezone, in.Environ = "Asia/Tokyo", []string{"TZ=UTC"} }).Env
	if !slices.Contains(got, "TZ=UTC") {
		t.Errorf("got %q, want the variable to win", got)
	}
}

func TestCommand(t *testing.T) {
	if got := decide(t, nil).Plan.Command.Argv; !slices.Equal(got, []string{"toy", "--loose", "-p", "hi"}) {
		t.Errorf("got %q", got)
	}
	got := decide(t, func(in *Input) { in.Options.Exec, in.Options.Args = true, []string{"wc", "-c"} }).Plan.Command.Argv
	if !slices.Equal(got, []string{"wc", "-c"}) {
		t.Errorf("exec: got %q", got)
	}
	if _, err := Decide(input(func(in *Input) { in.Options.Exec, in.Options.Args = true, nil })); err == nil {
		t.Error("--exec without a command is taken")
	}
}

func TestSecurity(t *testing.T) {
	s := decide(t, nil).Plan.Security
	if s.Privileged || s.UnmaskProc || s.AppArmor != "" || !strings.Contains(s.Seccomp, "SCMP_ACT_ERRNO") {
		t.Errorf("got %+v", s)
	}
	if s := decide(t, func(in *Input) { in.Engine.AppArmor = true }).Plan.Security; s.AppArmor != "unconfined" || s.AppArmorReason == "" {
		t.Errorf("with AppArmor: got %+v", s)
	}
}

func TestName(t *testing.T) {
	if got := decide(t, nil).Plan.Name; got != "toy-box-app-r" {
		t.Errorf("got %q", got)
	}
	if got := decide(t, func(in *Input) { in.Options.Name = "job" }).Plan.Name; got != "job" {
		t.Errorf("got %q", got)
	}
}

func TestDevicesAskedFor(t *testing.T) {
	p := decide(t, func(in *Input) {
		in.Options.GPUs, in.Options.GPUDevices, in.Options.KVM = []plan.GPU{{Count: -1, Reason: "--gpus"}}, []string{"/dev/dri"}, true
	}).Plan
	want := []plan.Device{{Path: "/dev/dri", Required: true, Reason: "--gpus"}, {Path: "/dev/kvm", Required: true, Reason: "--kvm"}}
	if diff := cmp.Diff(want, p.Devices); diff != "" {
		t.Error(diff)
	}
	if len(p.GPUs) != 1 || p.GPUs[0].Count != -1 {
		t.Errorf("got %v", p.GPUs)
	}
	if p := decide(t, nil).Plan; p.Devices != nil || p.GPUs != nil {
		t.Errorf("unasked: %v, %v", p.Devices, p.GPUs)
	}
}
