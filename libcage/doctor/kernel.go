package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

func (e *examination) lookAtKernel() {
	if e.info == nil {
		e.notAsked("kernel", "cgroup", "apparmor", "seccomp")
	} else {
		e.find("kernel", OK, e.info.KernelVersion, "")
		e.lookAtCgroup()
		e.lookAtSecurity()
	}
	if !e.sharesKernel() {
		for _, code := range []string{"userns", "idmap"} {
			e.find(code, Note, "the engine's kernel is not this machine's: not looked at", "run cage doctor where the engine runs")
		}
		return
	}
	e.lookAtUserNamespaces()
	e.lookAtIdmap()
}

func (e *examination) lookAtCgroup() {
	if e.info.CgroupVersion == "1" {
		e.find("cgroup", Note, "version 1: limits of containers inside a box are not enforced", "boot with systemd.unified_cgroup_hierarchy=1")
		return
	}
	e.find("cgroup", OK, "version "+e.info.CgroupVersion, "")
}

func (e *examination) lookAtSecurity() {
	if e.info.AppArmor {
		e.find("apparmor", OK, "on; boxes run outside its default profile, which denies the mounts that they need", "")
	} else {
		e.find("apparmor", OK, "not used by the engine", "")
	}
	if e.info.Seccomp {
		e.find("seccomp", OK, "the engine filters system calls", "")
	} else {
		e.find("seccomp", Problem, "the engine cannot filter system calls", "use a kernel with CONFIG_SECCOMP_FILTER")
	}
}

// Settings that keep processes without privileges from making user namespaces,
// and the value that does not.
var userNamespaceSettings = []struct{ name, good, without string }{
	{"kernel.unprivileged_userns_clone", "1", "off for processes without privileges"},
	{"kernel.apparmor_restrict_unprivileged_userns", "0", "restricted by AppArmor"},
}

func (e *examination) lookAtUserNamespaces() {
	const code = "userns"
	if n, ok := e.setting("user.max_user_namespaces"); ok && n == "0" {
		e.find(code, Problem, "user namespaces are off: user.max_user_namespaces is 0", "sudo sysctl -w user.max_user_namespaces=28633")
		return
	}
	for _, s := range userNamespaceSettings {
		if value, ok := e.setting(s.name); ok && value != s.good {
			e.find(code, Warning, fmt.Sprintf("user namespaces are %s: %s is %s", s.without, s.name, value),
				fmt.Sprintf("sudo sysctl -w %s=%s", s.name, s.good))
			return
		}
	}
	if err := e.Machine.MakeUserNamespace(); err != nil {
		e.find(code, Warning, "a user namespace could not be made here: "+err.Error(), "see that the kernel has CONFIG_USER_NS and that nothing denies it to you")
		return
	}
	e.find(code, OK, "one was made", "")
}

func (e *examination) setting(name string) (value string, ok bool) {
	text, err := e.Machine.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	return strings.TrimSpace(text), err == nil
}

// lookAtIdmap matters to root only, whose files are shown in a box as an
// ordinary user's.
func (e *examination) lookAtIdmap() {
	const code = "idmap"
	if e.Machine.UID() != 0 {
		e.find(code, OK, "not needed: your own ids are used in the box", "")
		return
	}
	if kernel := e.Machine.Kernel(); !kernelAtLeast(kernel, 5, 12) {
		e.find(code, Problem, "kernel "+kernel+" has no idmapped mounts, which root's files need", "start boxes as an ordinary user, or use Linux 5.12 or later")
		return
	}
	for _, dir := range []string{e.Home, e.Dir} {
		if err := e.Machine.IdmapMount(dir); err != nil {
			e.find(code, Warning, fmt.Sprintf("%s could not be mounted with other owners: %v", dir, err), "start boxes as an ordinary user, or keep projects on ext4, xfs, btrfs or tmpfs")
			return
		}
	}
	e.find(code, OK, fmt.Sprintf("%s and %s can be mounted with other owners", e.Home, e.Dir), "")
}

// kernelAtLeast compares the first two numbers of a release; one that it
// cannot read counts as new.
func kernelAtLeast(release string, major, minor int) bool {
	a, rest, _ := strings.Cut(release, ".")
	b := rest
	if i := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		b = rest[:i]
	}
	x, err := strconv.Atoi(a)
	if err != nil {
		return true
	}
	y, err := strconv.Atoi(b)
	return err != nil || x > major || x == major && y >= minor
}
