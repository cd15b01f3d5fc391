//go:build linux

package sandbox

import "golang.org/x/sys/unix"

// rule refuses one system call: always, or if one of its tests holds.
type rule struct {
	call   string
	errno  unix.Errno
	tests  []argTest
	when   string
	userns bool // left out where the cage may make user namespaces
	reason string
}

// argTest looks at the low 32 bits of an argument: the kernel itself reads no
// more of these, so that higher bits could only deceive a filter.
type argTest struct {
	arg    uint32
	oneOf  []uint32 // holds if the argument is one of them
	noneOf []uint32 // holds if it is none of them
	bits   uint32   // holds if any of the bits is set
}

const (
	reasonTerminal = "it types into the caller's terminal"
	reasonKeyring  = "keyrings belong to the user, not to a namespace"
	reasonMemory   = "it reaches into another process"
	reasonKernel   = "much kernel code, no use in a cage"
	reasonMount    = "it changes what the cage sees"
	reasonMachine  = "it changes the machine"
	reasonNested   = "a namespace of its own gives the command capabilities"
	reasonFamily   = "only local, IP and netlink sockets end at the network namespace"
	reasonSetuid   = "a set-user-id file in the zone works outside"
)

// The rules are data: each call is named as the architecture tables name it.
var rules = []rule{
	{call: "ioctl", errno: unix.EPERM, when: "TIOCSTI or TIOCLINUX", reason: reasonTerminal,
		tests: []argTest{{arg: 1, oneOf: []uint32{unix.TIOCSTI, unix.TIOCLINUX}}}},

	{call: "add_key", errno: unix.ENOSYS, reason: reasonKeyring},
	{call: "request_key", errno: unix.ENOSYS, reason: reasonKeyring},
	{call: "keyctl", errno: unix.ENOSYS, reason: reasonKeyring},

	{call: "ptrace", errno: unix.EPERM, when: "PTRACE_ATTACH or PTRACE_SEIZE", reason: reasonMemory,
		tests: []argTest{{arg: 0, oneOf: []uint32{unix.PTRACE_ATTACH, unix.PTRACE_SEIZE}}}},
	{call: "process_vm_readv", errno: unix.EPERM, reason: reasonMemory},
	{call: "process_vm_writev", errno: unix.EPERM, reason: reasonMemory},
	{call: "process_madvise", errno: unix.EPERM, reason: reasonMemory},
	{call: "process_mrelease", errno: unix.EPERM, reason: reasonMemory},
	{call: "pidfd_getfd", errno: unix.EPERM, reason: reasonMemory},
	{call: "kcmp", errno: unix.EPERM, reason: reasonMemory},
	{call: "move_pages", errno: unix.EPERM, reason: reasonMemory},
	{call: "migrate_pages", errno: unix.EPERM, reason: reasonMemory},

	{call: "bpf", errno: unix.EPERM, reason: reasonKernel},
	{call: "perf_event_open", errno: unix.EPERM, reason: reasonKernel},
	{call: "userfaultfd", errno: unix.EPERM, reason: reasonKernel},
	{call: "io_uring_setup", errno: unix.ENOSYS, reason: reasonKernel},
	{call: "io_uring_enter", errno: unix.ENOSYS, reason: reasonKernel},
	{call: "io_uring_register", errno: unix.ENOSYS, reason: reasonKernel},
	{call: "lookup_dcookie", errno: unix.EPERM, reason: reasonKernel},
	{call: "fanotify_init", errno: unix.EPERM, reason: reasonKernel},
	{call: "uselib", errno: unix.EPERM, reason: reasonKernel},
	{call: "vm86", errno: unix.EPERM, reason: reasonKernel},
	{call: "vm86old", errno: unix.EPERM, reason: reasonKernel},
	{call: "syslog", errno: unix.EPERM, reason: "the kernel's log tells about the host"},

	{call: "mount", errno: unix.EPERM, reason: reasonMount, userns: true},
	{call: "umount", errno: unix.EPERM, reason: reasonMount, userns: true},
	{call: "umount2", errno: unix.EPERM, reason: reasonMount, userns: true},
	{call: "pivot_root", errno: unix.EPERM, reason: reasonMount, userns: true},
	{call: "chroot", errno: unix.EPERM, reason: reasonMount, userns: true},
	{call: "open_tree", errno: unix.EPERM, reason: reasonMount, userns: true},
	{call: "open_tree_attr", errno: unix.EPERM, reason: reasonMount, userns: true},
	{call: "move_mount", errno: unix.EPERM, reason: reasonMount, userns: true},
	{call: "fsopen", errno: unix.EPERM, reason: reasonMount, userns: true},
	{call: "fsconfig", errno: unix.EPERM, reason: reasonMount, userns: true},
	{call: "fsmount", errno: unix.EPERM, reason: reasonMount, userns: true},
	{call: "fspick", errno: unix.EPERM, reason: reasonMount, userns: true},
	{call: "mount_setattr", errno: unix.EPERM, reason: reasonMount, userns: true},
	{call: "open_by_handle_at", errno: unix.EPERM, reason: "it opens files by number, past every mask"},

	{call: "setns", errno: unix.EPERM, reason: reasonNested, userns: true},
	{call: "unshare", errno: unix.EPERM, when: "it makes a namespace", reason: reasonNested, userns: true,
		tests: []argTest{{arg: 0, bits: namespaceFlags}}},
	{call: "clone", errno: unix.EPERM, when: "it makes a namespace", reason: reasonNested, userns: true,
		// The low byte of clone's flags is the exit signal, which
		// CLONE_NEWTIME would overlap: clone cannot make that one.
		tests: []argTest{{arg: 0, bits: namespaceFlags &^ unix.CLONE_NEWTIME}}},
	{call: "clone3", errno: unix.ENOSYS, reason: "its flags cannot be read by a filter; callers fall back to clone", userns: true},

	{call: "kexec_load", errno: unix.EPERM, reason: reasonMachine},
	{call: "kexec_file_load", errno: unix.EPERM, reason: reasonMachine},
	{call: "reboot", errno: unix.EPERM, reason: reasonMachine},
	{call: "init_module", errno: unix.EPERM, reason: reasonMachine},
	{call: "finit_module", errno: unix.EPERM, reason: reasonMachine},
	{call: "delete_module", errno: unix.EPERM, reason: reasonMachine},
	{call: "create_module", errno: unix.EPERM, reason: reasonMachine},
	{call: "swapon", errno: unix.EPERM, reason: reasonMachine},
	{call: "swapoff", errno: unix.EPERM, reason: reasonMachine},
	{call: "acct", errno: unix.EPERM, reason: reasonMachine},
	{call: "quotactl", errno: unix.EPERM, reason: reasonMachine},
	{call: "quotactl_fd", errno: unix.EPERM, reason: reasonMachine},
	{call: "settimeofday", errno: unix.EPERM, reason: reasonMachine},
	{call: "stime", errno: unix.EPERM, reason: reasonMachine},
	{call: "clock_settime", errno: unix.EPERM, reason: reasonMachine},
	{call: "clock_settime64", errno: unix.EPERM, reason: reasonMachine},
	{call: "iopl", errno: unix.EPERM, reason: reasonMachine},
	{call: "ioperm", errno: unix.EPERM, reason: reasonMachine},
	{call: "vhangup", errno: unix.EPERM, reason: reasonMachine},
	{call: "nfsservctl", errno: unix.EPERM, reason: reasonMachine},

	{call: "socket", errno: unix.EAFNOSUPPORT, when: "another family than UNIX, INET, INET6, NETLINK", reason: reasonFamily,
		tests: []argTest{{arg: 0, noneOf: []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}}}},
	{call: "socketcall", errno: unix.ENOSYS, when: "it makes a socket of unreadable family", reason: reasonFamily,
		tests: []argTest{{arg: 0, oneOf: []uint32{1}}}},

	{call: "chmod", errno: unix.EPERM, when: "S_ISUID", reason: reasonSetuid, tests: []argTest{{arg: 1, bits: unix.S_ISUID}}},
	{call: "fchmod", errno: unix.EPERM, when: "S_ISUID", reason: reasonSetuid, tests: []argTest{{arg: 1, bits: unix.S_ISUID}}},
	{call: "fchmodat", errno: unix.EPERM, when: "S_ISUID", reason: reasonSetuid, tests: []argTest{{arg: 2, bits: unix.S_ISUID}}},
	{call: "fchmodat2", errno: unix.EPERM, when: "S_ISUID", reason: reasonSetuid, tests: []argTest{{arg: 2, bits: unix.S_ISUID}}},
	{call: "creat", errno: unix.EPERM, when: "S_ISUID", reason: reasonSetuid, tests: []argTest{{arg: 1, bits: unix.S_ISUID}}},
	{call: "open", errno: unix.EPERM, when: "S_ISUID", reason: reasonSetuid, tests: []argTest{{arg: 2, bits: unix.S_ISUID}}},
	{call: "openat", errno: unix.EPERM, when: "S_ISUID", reason: reasonSetuid, tests: []argTest{{arg: 3, bits: unix.S_ISUID}}},
	{call: "openat2", errno: unix.ENOSYS, reason: "its mode cannot be read by a filter; callers fall back to openat"},
	{call: "mknod", errno: unix.EPERM, when: "S_ISUID", reason: reasonSetuid, tests: []argTest{{arg: 1, bits: unix.S_ISUID}}},
	{call: "mknodat", errno: unix.EPERM, when: "S_ISUID", reason: reasonSetuid, tests: []argTest{{arg: 2, bits: unix.S_ISUID}}},
}
