package tight

import (
	"encoding/json"
	"slices"

	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// Namespaces are the calls allowed beyond Docker's default: what rootlesskit,
// a rootless dockerd and bubblewrap need, each seen to be called by them.
var Namespaces = []string{
	"clone", "clone3", "fsconfig", "fsmount", "fsopen", "fspick", "mount",
	"mount_setattr", "move_mount", "open_tree", "pivot_root", "setdomainname",
	"sethostname", "setns", "umount", "umount2", "unshare",
}

// Keyring are the calls that answer ENOSYS.
var Keyring = []string{"add_key", "keyctl", "request_key"}

// Profile returns the box's profile.
func Profile() *seccomp.Seccomp {
	p := seccomp.DefaultProfile()
	p.Syscalls = slices.DeleteFunc(p.Syscalls, superseded)
	nosys := uint(unix.ENOSYS)
	p.Syscalls = append(p.Syscalls,
		&seccomp.Syscall{LinuxSyscall: specs.LinuxSyscall{Names: Namespaces, Action: specs.ActAllow}},
		&seccomp.Syscall{LinuxSyscall: specs.LinuxSyscall{Names: Keyring, Action: specs.ActErrno, ErrnoRet: &nosys}},
	)
	return p
}

// superseded reports whether a default rule depends on capabilities: those
// that one switches on are unwanted, those that one switches off restrict the
// calls of Namespaces.
func superseded(s *seccomp.Syscall) bool {
	return s.Includes != nil && len(s.Includes.Caps) > 0 ||
		s.Excludes != nil && len(s.Excludes.Caps) > 0
}

// JSON returns the profile as an engine takes it.
func JSON() ([]byte, error) { return json.Marshal(Profile()) }
