//go:build linux

package sandbox

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestDiagnose(t *testing.T) {
	const denied = "setting up uid map: Permission denied"
	tests := []struct {
		name      string
		complaint string
		kernel    kernel
		cause     string // a part of the cause; empty if it is unknown
		fix       string
	}{
		{"nothing known", denied, kernel{maxUserns: "100", usernsClone: "1", seccomp: "0"}, "", ""},
		{"an old bubblewrap", "Unknown option --clearenv", kernel{}, "too old", "install"},
		{"an old kernel", "mount_setattr: function not implemented", kernel{}, "lacks the calls", "Linux 5.12"},
		{"too many mounts", "Exceeded maximum number of arguments 9000", kernel{}, "more mounts", "fewer repositories"},
		{"none allowed", "Creating new namespace failed: No space left on device", kernel{maxUserns: "100"}, "max_user_namespaces", "sysctl user."},
		{"switched off by number", denied, kernel{maxUserns: "0"}, "max_user_namespaces", "sysctl user."},
		{"switched off for users", "No permissions to create new namespace", kernel{usernsClone: "0"}, "switched off for users", "unprivileged_userns_clone=1"},
		{"switched off, another failure", "Can't mkdir /x: Read-only file system", kernel{usernsClone: "0", apparmorUserns: "1", seccomp: "2", container: true}, "", ""},
		{"AppArmor", denied, kernel{apparmorUserns: "1", seccomp: "2"}, "AppArmor", "--doctor --fix"},
		{"a masked /proc", "Can't mount proc on /newroot/proc: Operation not permitted", kernel{procCover: "/proc/acpi", seccomp: "2"}, "/proc is masked", "unmasked /proc"},
		{"seccomp", "Creating new namespace failed: Operation not permitted", kernel{seccomp: "2", container: true}, "seccomp", "seccomp profile"},
		{"a container", denied, kernel{container: true, seccomp: "0"}, "container forbids", "let the container"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := diagnose(tt.complaint, tt.kernel)
			if tt.cause == "" {
				if got != nil {
					t.Fatalf("diagnosed: %v", got)
				}
				return
			}
			if got == nil || !strings.Contains(got.Cause, tt.cause) || !strings.Contains(got.Fix, tt.fix) || strings.Contains(got.Error(), "\n") {
				t.Fatalf("got %v", got)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	m := &Machine{}
	exited := unix.WaitStatus(1 << 8)
	gone := (*vanishedError)(nil)
	if err := m.explain("Can't find source path /home/u/projects/x: No such file or directory", exited); !errors.As(err, &gone) {
		t.Errorf("a path that vanished: %v", err)
	}
	at := &os.PathError{Op: "mount", Path: "/home/u/projects/x", Err: unix.ENOENT}
	if err := m.explain(stageComplaint(at), exited); !errors.As(err, &gone) {
		t.Errorf("a path that vanished before the stage: %v", err)
	}
	changed := (*exchangedError)(nil)
	if err := m.explain(stageComplaint(changedError("/home/u/projects/x")), exited); !errors.As(err, &changed) || changed.path != "/home/u/projects/x" {
		t.Errorf("a path that was exchanged: %v", err)
	}
	for _, complaint := range []string{
		"Can't find source path /home/u/projects/x: Permission denied",
		"execvp /run/sbox/start: No such file or directory",
		"",
	} {
		err := m.explain(complaint, exited)
		refused := (*RefusedError)(nil)
		if errors.As(err, &gone) || !errors.As(err, &refused) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", complaint, err)
		}
	}
	if err := m.explain("", unix.WaitStatus(unix.SIGKILL)); !strings.Contains(err.Error(), "killed") {
		t.Errorf("a killed bubblewrap: %v", err)
	}
}
