package lifecycle

import (
	"maps"
	"strconv"
)

// Labels that say which process made an object. Together they name one
// process among all that ever ran, on any machine.
const (
	// LabelMachine is the machine, see Host.Machine.
	LabelMachine = "dev.agent-cage.launcher.machine"
	// LabelBoot is the machine's boot.
	LabelBoot = "dev.agent-cage.launcher.boot"
	// LabelPIDNamespace is the inode of the PID namespace that the pid is one of.
	LabelPIDNamespace = "dev.agent-cage.launcher.pidns"
	// LabelUID is the user who ran it.
	LabelUID = "dev.agent-cage.launcher.uid"
	// LabelPID is its process id.
	LabelPID = "dev.agent-cage.launcher.pid"
	// LabelStart is when it started, see Launcher.Start.
	LabelStart = "dev.agent-cage.launcher.start"
	// LabelNameFile is the path of the file that the launcher published the
	// box's name in, if there is one.
	LabelNameFile = "dev.agent-cage.launcher.name-file"
)

// Launcher identifies a launcher's process.
type Launcher struct {
	// Machine is empty if the machine has no id.
	Machine string
	Boot    string
	// PIDNamespace is empty on systems without such namespaces.
	PIDNamespace string
	UID          uint32
	PID          int
	// Start tells the processes apart that had a pid one after the other:
	// clock ticks since the boot on Linux, seconds since 1970 on macOS.
	Start string
}

// Labels returns the labels of what the launcher makes.
func (l Launcher) Labels() map[string]string {
	labels := l.owner()
	maps.Copy(labels, map[string]string{
		LabelBoot:         l.Boot,
		LabelPIDNamespace: l.PIDNamespace,
		LabelPID:          strconv.Itoa(l.PID),
		LabelStart:        l.Start,
	})
	return labels
}

// OwnerLabels returns the labels of what outlives the launcher and is its
// user's.
func (l Launcher) OwnerLabels() map[string]string { return l.owner() }

// owner are the labels of all that a user has made on a machine: what is asked
// for of an engine, which others may use too. A machine without an id is known
// until its next boot.
func (l Launcher) owner() map[string]string {
	labels := map[string]string{LabelUID: strconv.FormatUint(uint64(l.UID), 10)}
	if l.Machine != "" {
		labels[LabelMachine] = l.Machine
	} else {
		labels[LabelBoot] = l.Boot
	}
	return labels
}

// ParseLauncher reads the labels of an object. It is not ok if they are not
// those of a launcher.
func ParseLauncher(labels map[string]string) (l Launcher, ok bool) {
	uid, err := strconv.ParseUint(labels[LabelUID], 10, 32)
	if err != nil {
		return Launcher{}, false
	}
	pid, err := strconv.ParseInt(labels[LabelPID], 10, 32)
	if err != nil || pid <= 0 {
		return Launcher{}, false
	}
	l = Launcher{
		Machine:      labels[LabelMachine],
		Boot:         labels[LabelBoot],
		PIDNamespace: labels[LabelPIDNamespace],
		UID:          uint32(uid),
		PID:          int(pid),
		Start:        labels[LabelStart],
	}
	return l, l.Boot != "" && l.Start != ""
}
