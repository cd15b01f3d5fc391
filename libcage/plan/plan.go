// Package plan is the typed description of a run: everything a launcher will
// do, computed before it does any of it.
//
// A Plan is pure data. The engine's options come from it and from nowhere
// else, --dry-run prints it, a receipt stores it and the box gets a copy. It
// holds the names of environment variables and never their values, so a plan
// is safe to print.
package plan

import "time"

// Plan is one run, decided.
type Plan struct {
	// Label is the launcher's name and the prefix of every line it prints.
	Label string `json:"label"`
	// Name is the container's name.
	Name string `json:"name"`
	// NameFile is the absolute path of the file that holds the name while the
	// box can be addressed; empty is none.
	NameFile string `json:"nameFile,omitempty"`
	// Hostname is the box's host name.
	Hostname string `json:"hostname"`
	// Image is the image that the box is created from.
	Image Image `json:"image"`
	// Init is the program in the image that is the box's PID 1, as its root, in
	// the place of the image's own entry point, user and health check.
	Init string `json:"init"`
	// Posture is what kind of container engine the box has inside.
	Posture Posture `json:"posture"`
	// Project is the directory that the harness works in.
	Project Project `json:"project"`
	// User is who the harness is in the box.
	User User `json:"user"`
	// Mounts are the host directories that the box sees, in mount order.
	Mounts []Mount `json:"mounts"`
	// Volumes are the engine's volumes that the box sees.
	Volumes []Volume `json:"volumes,omitempty"`
	// Devices are the host devices that the box may open.
	Devices []Device `json:"devices,omitempty"`
	// GPUs are graphics processors that a driver of the engine's gives the box.
	GPUs []GPU `json:"gpus,omitempty"`
	// Tmpfs are the box's own memory file systems.
	Tmpfs []Tmpfs `json:"tmpfs,omitempty"`
	// Env names the variables that travel with the handshake.
	Env []Env `json:"env,omitempty"`
	// Labels are the labels of the container, by key.
	Labels map[string]string `json:"labels"`
	// Security is what the box may do as the engine's kernel sees it.
	Security Security `json:"security"`
	// Network is the engine's network mode.
	Network Network `json:"network"`
	// Limits are the box's resource limits.
	Limits Limits `json:"limits"`
	// Terminal says how the standard streams are connected.
	Terminal Terminal `json:"terminal"`
	// Command is what the harness is started as. It travels with the
	// handshake and is not part of the container's configuration.
	Command Command `json:"command"`
	// Warnings are what a person should know before the run.
	Warnings []string `json:"warnings,omitempty"`
}

// Image is the image of a run.
type Image struct {
	Ref    string `json:"ref"`
	Reason string `json:"reason"`
}

// Mode is a posture's name.
type Mode string

// The postures that a box can have.
const (
	Auto           Mode = "auto"
	Sysbox         Mode = "sysbox"
	Rootless       Mode = "rootless"
	PrivilegedDind Mode = "privileged-dind"
	None           Mode = "none"
)

// Posture is the posture of a run and how it was arrived at.
type Posture struct {
	Mode Mode `json:"mode"`
	// Rung is what a rootless engine is given; empty in other postures.
	Rung Rung `json:"rung,omitempty"`
	// Helper is the command that a privileged container runs once a boot of the
	// engine's machine, before the first box of this rung; empty is none.
	Helper []string `json:"helper,omitempty"`
	// Start is when the engine starts; empty if there is none.
	Start   Start    `json:"start,omitempty"`
	Reasons []string `json:"reasons"`
}

// Rung is what a box is given for a rootless engine, the less the lower.
type Rung string

// The rungs, from the lowest.
const (
	// Plain is nothing: user namespaces are open to everybody.
	Plain Rung = "plain"
	// Profile is an AppArmor profile that allows user namespaces.
	Profile Rung = "profile"
	// ProfileCap is that profile, and SYS_ADMIN and DAC_OVERRIDE in the bounding
	// set.
	ProfileCap Rung = "profile-cap"
	// Cap is those two in the bounding set, without a profile.
	Cap Rung = "cap"
	// Unsupported is the end of the ladder: no rung works.
	Unsupported Rung = "unsupported"
)

// Start is when the engine in the box starts.
type Start string

// The times at which an engine can start.
const (
	// OnDemand is when something first connects.
	OnDemand Start = "on-demand"
	// Eager is with the box.
	Eager Start = "eager"
)

// Project is the project directory.
type Project struct {
	// Dir is the directory's real path, the same on the host and in the box.
	Dir string `json:"dir"`
	// WorkDir is the directory the harness starts in: Dir, or the path under
	// which the caller named it.
	WorkDir string `json:"workDir"`
	Reason  string `json:"reason"`
}

// User is the harness's identity in the box.
type User struct {
	Name string `json:"name"`
	Home string `json:"home"`
	UID  uint32 `json:"uid"`
	GID  uint32 `json:"gid"`
	// HostUID and HostGID own the project on the host. They differ from UID
	// and GID where mounts are idmapped.
	HostUID uint32 `json:"hostUid"`
	HostGID uint32 `json:"hostGid"`
	// Mapped says that the engine runs boxes in a user namespace. The harness
	// is then who HostUID and HostGID are in there, and still sees itself as
	// UID and GID.
	Mapped bool   `json:"mapped,omitempty"`
	Reason string `json:"reason"`
}

// Idmap returns whose files must be shown in the box as the harness's; nil if
// they are shown as they are.
func (u User) Idmap() *Owner {
	if u.Mapped || u.UID == u.HostUID && u.GID == u.HostGID {
		return nil
	}
	return &Owner{u.HostUID, u.HostGID}
}

// Owner is a user and a group of the host.
type Owner struct {
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
}

// Mount is a bind mount of a host directory or file.
type Mount struct {
	// Source is an absolute host path in which no element is a symlink.
	Source string `json:"source"`
	// Target is the absolute path in the box.
	Target   string `json:"target"`
	ReadOnly bool   `json:"readOnly,omitempty"`
	// Idmap asks cage-init to show the files of that owner as the harness's. It
	// is nil where they are shown as they are.
	Idmap  *Owner `json:"idmap,omitempty"`
	Reason string `json:"reason"`
}

// Volume is a volume of the engine's. The engine makes one that is missing.
type Volume struct {
	// Name is empty for a volume that is the box's alone and goes with it.
	Name   string            `json:"name,omitempty"`
	Target string            `json:"target"`
	Labels map[string]string `json:"labels,omitempty"`
	Reason string            `json:"reason"`
}

// Device is a device of the engine's host, or a directory of them, at the same
// path in the box.
type Device struct {
	Path string `json:"path"`
	// Required ends the run if the harness cannot open it.
	Required bool   `json:"required,omitempty"`
	Reason   string `json:"reason"`
}

// CDI is the driver of devices that a specification on the engine's machine
// describes (Container Device Interface).
const CDI = "cdi"

// GPU asks the engine for graphics processors. The run ends if the harness
// cannot open them.
type GPU struct {
	// Driver is the engine's; empty is the one that it has for GPUs.
	Driver string `json:"driver,omitempty"`
	// Count is how many; -1 is all of them, 0 those of the IDs.
	Count int `json:"count,omitempty"`
	// IDs are indexes and UUIDs of the driver's, or names of CDI's.
	IDs    []string `json:"ids,omitempty"`
	Reason string   `json:"reason"`
}

// Tmpfs is a memory file system of the box.
type Tmpfs struct {
	Target string `json:"target"`
	// SizeBytes bounds its content; 0 is the kernel's default.
	SizeBytes int64 `json:"sizeBytes,omitempty"`
	// Mode is the permission of its root, octal.
	Mode   uint32 `json:"mode"`
	Reason string `json:"reason"`
}

// Env names a variable that the box is given.
type Env struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Security is the box's confinement.
type Security struct {
	// CapAdd are the capabilities of cage-init; all others are dropped.
	CapAdd []Capability `json:"capAdd"`
	// Seccomp is the JSON of the box's seccomp profile, compact.
	Seccomp string `json:"-"`
	// SeccompName names the profile for people.
	SeccompName string `json:"seccomp"`
	// AppArmor is the profile's name: empty is the engine's default.
	AppArmor       string `json:"appArmor,omitempty"`
	AppArmorReason string `json:"appArmorReason,omitempty"`
	// UnmaskProc makes the whole of /proc and /sys visible.
	UnmaskProc bool `json:"unmaskProc,omitempty"`
	Privileged bool `json:"privileged,omitempty"`
	// Runtime is the OCI runtime; empty is the engine's default.
	Runtime string `json:"runtime,omitempty"`
}

// Capability is one that cage-init needs, without the CAP_ prefix.
type Capability struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Network is the box's network.
type Network struct {
	// Mode is the engine's network mode or network name; empty is its default.
	Mode   string `json:"mode,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Limits are resource limits; zero means none.
type Limits struct {
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	// NanoCPUs is in units of 1e-9 CPUs.
	NanoCPUs  int64 `json:"nanoCpus,omitempty"`
	PidsLimit int64 `json:"pidsLimit,omitempty"`
	// Timeout ends the box that long after its start, in nanoseconds.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Terminal is how the harness's standard streams are connected.
type Terminal struct {
	// TTY gives the harness a terminal: only if all three streams are one.
	TTY bool `json:"tty"`
	// Stdin passes the caller's standard input on; otherwise the harness
	// reads end of file at once.
	Stdin bool `json:"stdin"`
}

// Command is the harness's command.
type Command struct {
	// Argv is the program, looked up on the box's PATH, and its arguments.
	Argv []string `json:"argv"`
	// Reason says where the command comes from.
	Reason string `json:"reason"`
}
