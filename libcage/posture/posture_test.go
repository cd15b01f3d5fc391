package posture

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/plan"
)

func TestResolve(t *testing.T) {
	sysbox := Host{Runtimes: []string{"runc", SysboxRuntime}}
	plainWorks := &Ladder{Rung: plan.Plain, Devices: []string{"/dev/net/tun"}}
	tests := []struct {
		name string
		in   Input
		// want has no reasons.
		want     plan.Posture
		devices  int
		warns    string
		reason   string
		apparmor string
		caps     []string
		unmasked bool
	}{
		{name: "none", in: Input{Asked: plan.None}, want: plan.Posture{Mode: plan.None}, reason: "--engine none"},
		{name: "none with AppArmor", in: Input{Asked: plan.None, Host: Host{AppArmor: true}}, want: plan.Posture{Mode: plan.None}, apparmor: "unconfined"},
		{name: "auto with sysbox", in: Input{Asked: plan.Auto, Start: plan.OnDemand, Host: sysbox},
			want: plan.Posture{Mode: plan.Sysbox, Start: plan.OnDemand}, reason: "sysbox-runc"},
		{name: "auto without", in: Input{Asked: plan.Auto, Start: plan.OnDemand, Ladder: plainWorks},
			want: plan.Posture{Mode: plan.Rootless, Rung: plan.Plain, Start: plan.OnDemand}, devices: 1, reason: "no runtime", unmasked: true},
		{name: "rootless beside sysbox", in: Input{Asked: plan.Rootless, Host: sysbox, Ladder: plainWorks},
			want: plan.Posture{Mode: plan.Rootless, Rung: plan.Plain}, devices: 1, unmasked: true},
		{name: "sysbox", in: Input{Asked: plan.Sysbox, Start: plan.Eager, Host: sysbox}, want: plan.Posture{Mode: plan.Sysbox, Start: plan.Eager}},
		{name: "privileged", in: Input{Asked: plan.PrivilegedDind, Start: plan.OnDemand},
			want: plan.Posture{Mode: plan.PrivilegedDind, Start: plan.OnDemand}, warns: "not walled off"},
		{name: "not probed", in: Input{Asked: plan.Rootless}, want: plan.Posture{Mode: plan.Rootless, Rung: plan.Plain}, reason: "not tried yet", unmasked: true},
		{name: "profile", in: Input{Asked: plan.Rootless, Host: Host{AppArmor: true}, Ladder: &Ladder{Rung: plan.Profile, Failures: []Failure{{plan.Plain, "EPERM"}}}},
			want: plan.Posture{Mode: plan.Rootless, Rung: plan.Profile}, reason: "plain: EPERM", apparmor: AppArmorProfile, unmasked: true},
		{name: "profile-cap", in: Input{Asked: plan.Rootless, Host: Host{AppArmor: true}, Ladder: &Ladder{Rung: plan.ProfileCap}},
			want: plan.Posture{Mode: plan.Rootless, Rung: plan.ProfileCap}, apparmor: AppArmorProfile, caps: []string{"SYS_ADMIN", "DAC_OVERRIDE"}, unmasked: true},
		{name: "cap", in: Input{Asked: plan.Rootless, Ladder: &Ladder{Rung: plan.Cap, Fresh: true}},
			want: plan.Posture{Mode: plan.Rootless, Rung: plan.Cap}, caps: []string{"SYS_ADMIN", "DAC_OVERRIDE"}, warns: "are void", unmasked: true},
		{name: "unsupported", in: Input{Asked: plan.Auto, Ladder: &Ladder{Rung: plan.Unsupported, Failures: []Failure{{plan.Plain, "EPERM"}, {plan.Cap, "EINVAL"}}}},
			want: plan.Posture{Mode: plan.None}, warns: "plain: EPERM; cap: EINVAL: allow", reason: "cap: EINVAL"},
		{name: "in a user namespace", in: Input{Asked: plan.Auto, Host: Host{UserNamespace: true}},
			want: plan.Posture{Mode: plan.None}, warns: "user namespace"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := Resolve(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if reasons := strings.Join(d.Posture.Reasons, "\n"); reasons == "" || !strings.Contains(reasons, tt.reason) {
				t.Errorf("reasons %q, want %q", reasons, tt.reason)
			}
			got := d.Posture
			if NeedsProfile(got.Rung) != (len(got.Helper) > 0) {
				t.Errorf("rung %s has the helper %q", got.Rung, got.Helper)
			}
			got.Reasons, got.Helper = nil, nil
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if warnings := strings.Join(d.Warnings, "\n"); !strings.Contains(warnings, tt.warns) || tt.warns == "" && warnings != "" {
				t.Errorf("warnings %q, want %q", warnings, tt.warns)
			}
			var caps []string
			for _, c := range d.Security.CapAdd {
				caps = append(caps, c.Name)
			}
			if !slices.Equal(caps, tt.caps) || d.Security.AppArmor != tt.apparmor || d.Security.UnmaskProc != tt.unmasked || len(d.Devices) != tt.devices {
				t.Errorf("given %+v, %+v", d.Security, d.Devices)
			}
			// No box is without the filter but the one that says so.
			if privileged := d.Posture.Mode == plan.PrivilegedDind; d.Security.Privileged != privileged || (d.Security.Seccomp == "") != privileged {
				t.Errorf("privileged is %t, the filter has %d bytes", d.Security.Privileged, len(d.Security.Seccomp))
			}
		})
	}
}

func TestSysboxIsMissing(t *testing.T) {
	_, err := Resolve(Input{Asked: plan.Sysbox, Host: Host{Runtimes: []string{"runc", "crun"}}})
	var fault *exitstatus.Fault
	if !errors.As(err, &fault) || fault.Kind.Status() != 126 || !strings.Contains(err.Error(), "crun, runc") {
		t.Errorf("got %v", err)
	}
}

// prober answers from tables.
type prober struct {
	works   func(plan.Security) error
	devices []string
	profile error
	loads   int
	tried   []string
}

func (p *prober) LoadProfile(context.Context) error { p.loads++; return p.profile }

func (p *prober) Opens(_ context.Context, device string) (bool, error) {
	return slices.Contains(p.devices, device), nil
}

func (p *prober) Try(_ context.Context, s plan.Security) error {
	tried := s.AppArmor
	for _, c := range s.CapAdd {
		tried += "+" + c.Name
	}
	p.tried = append(p.tried, tried)
	return p.works(s)
}

func TestClimb(t *testing.T) {
	refused := &RefusedError{"step:\nEPERM"}
	never := func(plan.Security) error { return refused }
	admin := func(s plan.Security) error {
		if len(s.CapAdd) == 0 {
			return refused
		}
		return nil
	}
	profiled := func(s plan.Security) error {
		if s.AppArmor != AppArmorProfile {
			return refused
		}
		return nil
	}
	tests := []struct {
		name     string
		prober   prober
		apparmor bool
		rung     plan.Rung
		failures []string
		tried    []string
		loads    int
	}{
		{name: "plain", prober: prober{works: func(plan.Security) error { return nil }}, apparmor: true,
			rung: plan.Plain, tried: []string{"unconfined"}},
		{name: "profile", prober: prober{works: profiled}, apparmor: true,
			rung: plan.Profile, failures: []string{"plain: step: EPERM"}, tried: []string{"unconfined", AppArmorProfile}, loads: 1},
		{name: "profile-cap", apparmor: true, loads: 1, rung: plan.ProfileCap,
			prober:   prober{works: func(s plan.Security) error { return errors.Join(admin(s), profiled(s)) }},
			failures: []string{"plain: step: EPERM", "profile: step: EPERM"},
			tried:    []string{"unconfined", AppArmorProfile, AppArmorProfile + "+SYS_ADMIN+DAC_OVERRIDE"}},
		{name: "no AppArmor", prober: prober{works: admin}, rung: plan.Cap, tried: []string{"", "+SYS_ADMIN+DAC_OVERRIDE"},
			failures: []string{"plain: step: EPERM", "profile: the engine's kernel has no AppArmor", "profile-cap: the engine's kernel has no AppArmor"}},
		{name: "no profile", prober: prober{works: admin, profile: errors.New("no parser")}, apparmor: true, loads: 1,
			rung: plan.Cap, tried: []string{"unconfined", "unconfined+SYS_ADMIN+DAC_OVERRIDE"},
			failures: []string{"plain: step: EPERM", "profile: the profile agent-cage-engine cannot be loaded: no parser", "profile-cap: the profile agent-cage-engine cannot be loaded: no parser"}},
		{name: "unsupported", prober: prober{works: never}, rung: plan.Unsupported, tried: []string{"", "+SYS_ADMIN+DAC_OVERRIDE"},
			failures: []string{"plain: step: EPERM", "profile: the engine's kernel has no AppArmor", "profile-cap: the engine's kernel has no AppArmor", "cap: step: EPERM"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inner := tt.prober.works
			tt.prober.works = func(s plan.Security) error {
				if inner(s) != nil {
					return refused
				}
				return nil
			}
			l, err := Climb(t.Context(), &tt.prober, Host{AppArmor: tt.apparmor})
			if err != nil {
				t.Fatal(err)
			}
			if l.Rung != tt.rung || !l.Fresh || tt.prober.loads != tt.loads {
				t.Errorf("rung %s, want %s; the profile was loaded %d times", l.Rung, tt.rung, tt.prober.loads)
			}
			if diff := cmp.Diff(tt.failures, l.failures()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.tried, tt.prober.tried); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An engine that gives no answer is not one that refuses.
func TestClimbWithoutAnswer(t *testing.T) {
	lost := errors.New("lost")
	_, err := Climb(t.Context(), &prober{works: func(plan.Security) error { return lost }}, Host{})
	if !errors.Is(err, lost) {
		t.Errorf("got %v", err)
	}
}

func TestClimbFindsDevices(t *testing.T) {
	l, err := Climb(t.Context(), &prober{works: func(plan.Security) error { return nil }, devices: []string{"/dev/fuse"}}, Host{})
	if err != nil || !slices.Equal(l.Devices, []string{"/dev/fuse"}) {
		t.Errorf("%+v, %v", l, err)
	}
}
