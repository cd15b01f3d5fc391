// Package needs says what cage-init must be given for it to do its work: the
// part of it that a launcher plans with, on any system.
package needs

import (
	"slices"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

// Paths in every box.
const (
	// BinaryDir holds cage-init in the image.
	BinaryDir = "/usr/local/libexec/agent-cage"
	// Init is cage-init, PID 1 of every box.
	Init = BinaryDir + "/cage-init"
	// RunDir is memory of the box, owned by its root, mode 0755. Secrets go
	// there and nowhere else.
	RunDir = "/run/agent-cage"
	// EngineDir is what the engine in the box keeps: a volume, so that it is on
	// a file system that images can be unpacked on.
	EngineDir = "/var/lib/agent-cage"
	// EngineSocket is where the engine in the box listens.
	EngineSocket = RunDir + "/docker.sock"
)

// Capabilities returns the capabilities of cage-init, the fewest with which it
// works; the harness has none of them.
func Capabilities(u plan.User, mounts []plan.Mount) []plan.Capability {
	caps := []plan.Capability{
		{Name: "CHOWN", Reason: "to give the harness its home and its terminal"},
		{Name: "SETGID", Reason: "to map groups into the harness's user namespace and to become its group"},
		{Name: "SETUID", Reason: "to map users into the harness's user namespace and to become its user"},
		{Name: "SETFCAP", Reason: "to map id 0 into the harness's user namespace"},
	}
	switch {
	case slices.ContainsFunc(mounts, func(m plan.Mount) bool { return m.Idmap != nil }):
		caps = append(caps,
			plan.Capability{Name: "SYS_ADMIN", Reason: "to show the caller's files with another owner (idmapped mounts); dropped before the harness starts"},
			plan.Capability{Name: "SETPCAP", Reason: "to drop SYS_ADMIN for good, with this one"},
		)
	case u.Mapped:
		caps = append(caps,
			plan.Capability{Name: "SYS_ADMIN", Reason: "to make what is the box's own read-only, where its root is the caller on the host; dropped before the harness starts"},
			plan.Capability{Name: "SETPCAP", Reason: "to drop SYS_ADMIN for good, with this one"},
		)
	}
	return caps
}
