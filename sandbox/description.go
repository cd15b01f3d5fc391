//go:build linux

package sandbox

// Description is one cage, decided before anything is done.
type Description struct {
	// Command is the program, looked up on PATH inside the cage, and its
	// arguments. It is empty where a cage is only described.
	Command []string `json:"command,omitempty"`
	// Dir is the directory that the command starts in.
	Dir string `json:"dir"`
	// Bubblewrap is the program that builds the cage.
	Bubblewrap Bubblewrap `json:"bubblewrap"`
	// Namespaces are those that the cage has for itself.
	Namespaces []Namespace `json:"namespaces"`
	// Mounts are what the cage sees, in the order in which they are made.
	Mounts []Mount `json:"mounts"`
	// Project is the top of the current project, if there is one.
	Project string `json:"project,omitempty"`
	// Placeholders are absent files that the cage may not create. They exist
	// while it runs.
	Placeholders []Placeholder `json:"placeholders,omitempty"`
	// Watches are paths that are compared with what they were once the
	// command has ended.
	Watches []Watch `json:"watches,omitempty"`
	// Env are the variables that the command loses or gets. Their values are
	// not part of a description.
	Env []EnvChange `json:"env,omitempty"`
	// Seccomp are the system calls that the cage refuses.
	Seccomp []Refusal `json:"seccomp"`
	// Git says how far a git command may write its git directory; nil for
	// every other command.
	Git *GitAccess `json:"git,omitempty"`
	// Notes are what a person should know: walls that this machine makes
	// thinner, things left out.
	Notes []string `json:"notes,omitempty"`
}

// Bubblewrap is the bubblewrap program of this machine.
type Bubblewrap struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// Namespace is a kernel namespace of the cage's own.
type Namespace struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Kind is what a mount does.
type Kind string

const (
	// ReadOnly shows Source at Target, read-only, with all that is mounted below.
	ReadOnly Kind = "read-only"
	// Writable shows Source at Target, writable.
	Writable Kind = "writable"
	// Pin makes a writable directory a mount of its own, so that it cannot be
	// renamed away together with what is mounted below it.
	Pin Kind = "pin"
	// Device shows the device node Source at Target.
	Device Kind = "device"
	// Empty puts an empty memory file system at Target, with mode Perms.
	Empty Kind = "empty"
	// HideFile puts the null device in the place of the file Target.
	HideFile Kind = "hide-file"
	// HideDir puts an empty directory that cannot be written in the place of
	// the directory Target.
	HideDir Kind = "hide-directory"
	// Proc mounts a fresh /proc.
	Proc Kind = "proc"
	// Dev makes a minimal /dev.
	Dev Kind = "dev"
	// Overlay reads Source and writes to Upper, with Work beside it.
	Overlay Kind = "overlay"
	// Symlink makes Target a symbolic link to Source.
	Symlink Kind = "symlink"
)

// Mount is one thing in the cage's file system.
type Mount struct {
	Kind   Kind   `json:"kind"`
	Source string `json:"source,omitempty"`
	Target string `json:"target"`
	// Upper and Work are the directories of an Overlay.
	Upper string `json:"upper,omitempty"`
	Work  string `json:"work,omitempty"`
	// Perms is the mode of an Empty mount's root.
	Perms  uint32 `json:"perms,omitempty"`
	Reason string `json:"reason"`
	// Checked says that the command is not started unless Target, seen from
	// inside, is the file that was planned: somebody in another cage may
	// exchange it between the plan and the mount.
	Checked bool `json:"checked,omitempty"`
}

// Placeholder is an absent file or directory held by an empty one.
type Placeholder struct {
	Path string `json:"path"`
	Dir  bool   `json:"dir,omitempty"`
	// Kept says that it stays: it is what its own program would make.
	Kept   bool   `json:"kept,omitempty"`
	Reason string `json:"reason"`
}

// Watch is a path that is looked at before and after the command.
type Watch struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// EnvChange is a variable that the command does not get, or gets anew.
type EnvChange struct {
	Name   string `json:"name"`
	Set    bool   `json:"set,omitempty"`
	Reason string `json:"reason"`
}

// GitAccess is what a git command may do in its git directory.
type GitAccess struct {
	// Command is git's own command; empty if there is none.
	Command string `json:"command"`
	// Top is the repository's working tree, Dir its git directory and Common
	// the one that it shares with other worktrees; empty without a repository.
	Top    string `json:"top,omitempty"`
	Dir    string `json:"dir,omitempty"`
	Common string `json:"common,omitempty"`
	// Config says that the command may record branches in the configuration;
	// Hooks that the repository's hooks run.
	Config bool   `json:"config"`
	Hooks  bool   `json:"hooks"`
	Reason string `json:"reason"`
}
