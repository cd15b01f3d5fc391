//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stageName is the name under which sbox runs itself between its own
// namespaces and bubblewrap, to mount what the cage sees.
const stageName = "sbox-stage"

// stageCapabilities are what mounting needs, and an overlay of whoever mounts
// it: it acts with them on its layers for as long as it lives. They count in
// the stage's own user namespace, where there are no files but the caller's.
var stageCapabilities = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH, unix.CAP_FOWNER, unix.CAP_FSETID,
}

// IsStage reports whether this process is that one.
func IsStage(args []string) bool { return len(args) > 4 && args[0] == stageName }

// stageArgs are the arguments of the stage: the order's descriptor, where
// sbox keeps its state, bubblewrap, and bubblewrap's own.
func (m *Machine) stageArgs(order string, argv []string) []string {
	return append([]string{stageName, order, m.StateDir, m.Bubblewrap.Path}, argv...)
}

// stageRoot is where the stage builds the cage's file system, in a mount
// namespace that nobody else sees.
func (m *Machine) stageRoot() string { return filepath.Join(m.StateDir, "root") }

// Stage builds what the cage sees, then becomes bubblewrap with no more rights
// than the caller has. It returns only if that fails.
func Stage(args []string) int {
	m := &Machine{StateDir: args[2]}
	err := m.stage(args[1])
	if err == nil {
		err = syscall.Exec(args[3], args[4:], []string{})
	}
	fmt.Fprintln(os.Stderr, stageComplaint(err))
	return StatusRefused
}

func (m *Machine) stage(orderFD string) error {
	o, err := readOrder(orderFD)
	if err != nil {
		return err
	}
	t, err := newTree(m.stageRoot())
	if err != nil {
		return err
	}
	for i := range o.Mounts {
		mt := &o.Mounts[i]
		if !isAhead(mt.Target) {
			continue
		}
		err := t.mount(mt)
		if refused := (*overlayError)(nil); errors.As(err, &refused) {
			_ = os.WriteFile(m.refusals(), []byte(kernelRelease()+" "+err.Error()), 0o600)
			err = t.mount(&planned{Mount: Mount{Kind: Writable, Source: strings.TrimSuffix(mt.Upper, "upper") + "private", Target: mt.Target}})
		}
		if err != nil {
			return err
		}
	}
	if err := dropAmbient(); err != nil {
		return err
	}
	// The start of this program has taken part of the block away.
	_, err = blockSignals()
	return err
}

// Words of the stage for the errors that its caller knows.
const (
	complaintVanished = "vanished: "
	complaintChanged  = "exchanged: "
)

// stageComplaint is what the stage says of an error, for explain.
func stageComplaint(err error) string {
	var changed *exchangedError
	var at *os.PathError
	switch {
	case errors.As(err, &changed):
		return complaintChanged + changed.path
	case errors.As(err, &at) && errors.Is(err, unix.ENOENT):
		return complaintVanished + at.Path
	}
	return err.Error()
}

// dropAmbient gives up what the namespace gave: bubblewrap is to be started
// as by an ordinary user, who makes a namespace of his own.
func dropAmbient() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return err
	}
	data[0].Inheritable, data[1].Inheritable = 0, 0
	return unix.Capset(&hdr, &data[0])
}

func kernelRelease() string { return sysctl("/proc/sys/kernel/osrelease") }

// stageRefusal is what the kernel answered the last time that a cache was to
// be laid over the host's, if it is still the same kernel.
func (m *Machine) stageRefusal() string {
	release, why, _ := strings.Cut(string(readSmall(m.refusals(), 4096)), " ")
	if release == kernelRelease() {
		return why
	}
	return ""
}

func (m *Machine) refusals() string { return filepath.Join(m.StateDir, "cache", "refused") }
