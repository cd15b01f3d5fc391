package tight

import (
	"slices"
	"testing"

	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"

	box "github.com/agent-cage/agent-cage/libcage/posture/seccomp"
)

func TestEmbeddedProfileIsGenerated(t *testing.T) {
	want, err := JSON()
	if err != nil {
		t.Fatal(err)
	}
	if box.Profile != string(want) {
		t.Error("profile.json is stale: run go generate ./libcage/posture/seccomp")
	}
}

// TestDifference spells out all that the profile changes in Docker's default,
// as it stands for a container without capabilities.
func TestDifference(t *testing.T) {
	before, after := allowed(seccomp.DefaultProfile()), allowed(Profile())
	var gained, lost []string
	for name := range after {
		if !before[name] {
			gained = append(gained, name)
		}
	}
	for name := range before {
		if !after[name] {
			lost = append(lost, name)
		}
	}
	slices.Sort(gained)
	want := slices.DeleteFunc(slices.Clone(Namespaces), func(n string) bool { return before[n] })
	slices.Sort(want)
	if !slices.Equal(gained, want) {
		t.Errorf("gained %q, want %q", gained, want)
	}
	if len(lost) > 0 {
		t.Errorf("lost %q, want nothing", lost)
	}
	for _, name := range []string{"bpf", "perf_event_open", "kexec_load", "init_module", "open_by_handle_at", "userfaultfd", "io_uring_setup", "syslog"} {
		if after[name] {
			t.Errorf("%s is allowed", name)
		}
	}
}

func TestKeyringAnswersNoSuchCall(t *testing.T) {
	for _, name := range Keyring {
		i := slices.IndexFunc(Profile().Syscalls, func(s *seccomp.Syscall) bool { return slices.Contains(s.Names, name) })
		if i < 0 {
			t.Errorf("%s has no rule", name)
			continue
		}
		if s := Profile().Syscalls[i]; s.Action != specs.ActErrno || s.ErrnoRet == nil || *s.ErrnoRet != 38 {
			t.Errorf("%s: %v, want errno 38", name, s)
		}
	}
}

// allowed returns the calls that a container without capabilities may make,
// with whatever arguments.
func allowed(p *seccomp.Seccomp) map[string]bool {
	names := map[string]bool{}
	for _, s := range p.Syscalls {
		if s.Action != specs.ActAllow || s.Includes != nil && len(s.Includes.Caps) > 0 {
			continue
		}
		for _, n := range s.Names {
			names[n] = true
		}
	}
	return names
}
