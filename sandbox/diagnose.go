//go:build linux

package sandbox

import (
	"os"
	"strings"
)

// kernel is what this machine, or the container around it, forbids.
type kernel struct {
	maxUserns      string // user.max_user_namespaces; empty where there is none
	usernsClone    string // kernel.unprivileged_userns_clone
	apparmorUserns string // kernel.apparmor_restrict_unprivileged_userns
	procCover      string // a mount below /proc
	seccomp        string // the mode of this process; 2 where a filter is in force
	container      bool   // a container manager says that it is one
}

func readKernel() kernel {
	return kernel{
		maxUserns:      sysctl("/proc/sys/user/max_user_namespaces"),
		usernsClone:    sysctl("/proc/sys/kernel/unprivileged_userns_clone"),
		apparmorUserns: sysctl("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
		procCover:      procCover("/proc/self/mountinfo"),
		seccomp:        seccompMode(),
		container:      os.Getenv("container") != "",
	}
}

// diagnose knows the failures of bubblewrap that have one cause, by what it
// says and what the kernel forbids; nil if it is none of them.
func diagnose(complaint string, k kernel) *RefusedError {
	c := strings.ToLower(complaint)
	denied := strings.Contains(c, "permission denied") || strings.Contains(c, "operation not permitted") || strings.Contains(c, "no permissions to create")
	switch {
	case strings.Contains(c, "function not implemented"):
		return refusedf("use Linux 5.12 or later; in a container, a seccomp profile that allows open_tree, move_mount, fsopen, fsmount and mount_setattr",
			"this kernel, or the container's seccomp profile, lacks the calls that mount the cage: %s", complaint)
	case strings.Contains(c, "unknown option"), strings.Contains(c, "unrecognized"):
		return refusedf(fixInstall, "this bubblewrap is too old: %s", complaint)
	case strings.Contains(c, "exceeded maximum number of arguments"):
		return refusedf("run it from a directory with fewer repositories beside it", "the cage has more mounts than bubblewrap takes")
	case strings.Contains(c, "no space left") || k.maxUserns == "0":
		return refusedf("sysctl user.max_user_namespaces=10000", "user namespaces are switched off or used up (user.max_user_namespaces): %s", complaint)
	case k.usernsClone == "0" && denied:
		return refusedf("sysctl kernel.unprivileged_userns_clone=1", "user namespaces are switched off for users: %s", complaint)
	case denied && k.apparmorUserns == "1":
		return refusedf("sbox --doctor --fix installs a profile for sbox", "AppArmor forbids user namespaces (kernel.apparmor_restrict_unprivileged_userns): %s", complaint)
	case strings.Contains(c, "proc") && denied && k.procCover != "":
		return refusedf("start the container with an unmasked /proc", "this container's /proc is masked: %s", complaint)
	case denied && k.seccomp == "2":
		return refusedf("start the container with a seccomp profile that allows clone, unshare, mount and pivot_root, or in a box",
			"this container's seccomp profile or capabilities forbid namespaces: %s", complaint)
	case denied && k.container:
		return refusedf("let the container make user namespaces", "this container forbids namespaces: %s", complaint)
	}
	return nil
}

func sysctl(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// seccompMode is 2 where a filter is in force.
func seccompMode() string {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(data), "\n") {
		if v, ok := strings.CutPrefix(line, "Seccomp:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
