//go:build linux

package sandbox

// systemSecrets are hidden whoever calls; most of them only root could read.
var systemSecrets = []secret{
	{path: "/etc/shadow", reason: "password hashes"},
	{path: "/etc/shadow-", reason: "password hashes"},
	{path: "/etc/gshadow", reason: "password hashes"},
	{path: "/etc/gshadow-", reason: "password hashes"},
	{path: "/etc/security/opasswd", reason: "password hashes"},
	{path: "/etc/sudoers", reason: "administration"},
	{path: "/etc/sudoers.d", reason: "administration"},
	{path: "/etc/ssl/private", reason: "host keys"},
	{path: "/etc/pki/tls/private", reason: "host keys"},
	{path: "/etc/letsencrypt", reason: "host keys"},
	{path: "/etc/krb5.keytab", reason: "host keys"},
	{path: "/etc/wireguard", reason: "VPN keys"},
	{path: "/etc/openvpn", reason: "VPN keys"},
	{path: "/etc/ipsec.secrets", reason: "VPN keys"},
	{path: "/etc/ipsec.d/private", reason: "VPN keys"},
	{path: "/etc/NetworkManager/system-connections", reason: "network passwords"},
	{path: "/etc/wpa_supplicant", reason: "network passwords"},
	{path: "/etc/docker", reason: "engine keys"},
	{path: "/etc/kubernetes", reason: "cluster credentials"},
	{path: "/etc/rancher", reason: "cluster credentials"},
	{path: "/etc/credstore", reason: "credentials"},
	{path: "/etc/credstore.encrypted", reason: "credentials"},
	{path: "/etc/apt/auth.conf", reason: "registry login"},
	{path: "/etc/apt/auth.conf.d", reason: "registry login"},
	{path: "/etc/ppp", reason: "network passwords"},
	{path: "/etc/cups/ssl", reason: "host keys"},
	{path: "/var/lib/docker", reason: "containers of the host"},
	{path: "/var/lib/containerd", reason: "containers of the host"},
	{path: "/var/lib/containers", reason: "containers of the host"},
	{path: "/var/lib/kubelet", reason: "cluster credentials"},
	{path: "/var/lib/rancher", reason: "cluster credentials"},
	{path: "/var/lib/tailscale", reason: "VPN keys"},
	{path: "/var/lib/cloud", reason: "machine's user data"},
	{path: "/var/lib/waagent", reason: "machine's user data"},
	{path: "/var/lib/systemd/coredump", reason: "memory of other programs"},
	{path: "/var/lib/apport", reason: "memory of other programs"},
	{path: "/var/crash", reason: "memory of other programs"},
	{path: "/var/lib/sss", reason: "logins"},
	{path: "/var/lib/NetworkManager", reason: "network passwords"},
	{path: "/var/lib/iwd", reason: "network passwords"},
	{path: "/var/lib/bluetooth", reason: "device keys"},
	{path: "/var/lib/private", reason: "services' state"},
	{path: "/var/spool/cron", reason: "jobs of the host"},
	{path: "/var/spool/at", reason: "jobs of the host"},
	{path: "/var/mail", reason: "mail"},
	{path: "/var/spool/mail", reason: "mail"},
	{path: "/var/log", reason: "logs of the host"},
	{path: "/var/backups", reason: "copies of system files"},
	{path: "/boot", reason: "the machine's start"},
	{path: "/efi", reason: "the machine's start"},
	{path: "/mnt/wslg", reason: "sockets of the desktop"},
	{path: "/sys/firmware", reason: "the machine's identity"},
	{path: "/sys/kernel/debug", reason: "kernel internals"},
	{path: "/sys/kernel/tracing", reason: "kernel internals"},
	{path: "/sys/kernel/security", reason: "kernel internals"},
	{path: "/sys/fs/bpf", reason: "kernel internals"},
	{path: "/sys/fs/pstore", reason: "kernel internals"},
	{path: "/sys/devices/virtual/powercap", reason: "power readings give away keys"},
}

// procHidden, procHiddenFromRoot and procReadOnly cover what a fresh /proc
// still shows of the machine. Kernel uid 0 may write most of the latter, and
// read most of the second, without any capability.
var (
	procHidden         = []string{"acpi", "keys", "scsi"}
	procHiddenFromRoot = []string{
		"allocinfo", "iomem", "ioports", "kallsyms", "kcore", "kmsg", "kpagecgroup", "kpagecount", "kpageflags",
		"latency_stats", "modules", "mtrr", "pagetypeinfo", "sched_debug", "slabinfo", "timer_list", "timer_stats",
		"vmallocinfo", "vmcore",
	}
	procReadOnly = []string{"bus", "dynamic_debug", "fs", "irq", "sys", "sysrq-trigger"}
)

// socketDirs are directories of sockets below /tmp. %d is the caller's uid.
// Those marked held are made when they are missing: a program of the host
// would take a server of the cage's for its own there.
var socketDirs = []struct {
	path   string
	held   bool
	reason string
}{
	{"/tmp/.X11-unix", false, "X server"},
	{"/tmp/.ICE-unix", false, "session manager"},
	{"/tmp/.XIM-unix", false, "input methods"},
	{"/tmp/.font-unix", false, "font server"},
	{"/tmp/tmux-%d", true, "tmux: its client runs what a server tells it to"},
	{"/tmp/screens", false, "screen"},
	{"/tmp/uscreens", false, "screen"},
	{"/tmp/emacs%d", false, "Emacs server"},
}
