//go:build linux

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stageName is the name under which sbox runs itself between its own
// namespaces and bubblewrap, where that cannot mount overlays.
const stageName = "sbox-stage"

// overlayCapabilities are what an overlay needs of whoever mounts it: it acts
// with them on its layers for as long as it lives. They count in the stage's
// own user namespace, where there are no files but the caller's.
var overlayCapabilities = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH, unix.CAP_FOWNER, unix.CAP_FSETID,
}

// IsStage reports whether this process is that one.
func IsStage(args []string) bool { return len(args) > 6 && args[0] == stageName }

// stageArgs are the arguments of the stage: what it mounts, where it says
// that the kernel refused, bubblewrap, and bubblewrap's own.
func stageArgs(mt Mount, refusals, path string, argv []string) []string {
	private := filepath.Join(filepath.Dir(mt.Upper), "private")
	return append([]string{stageName, mt.Target, mt.Upper, mt.Work, private, refusals, path}, argv...)
}

// Stage lays the cage's cache over the host's, then becomes bubblewrap with
// no more rights than the caller has. It returns only if that fails.
func Stage(args []string) int {
	target, upper, work, private, refusals, path := args[1], args[2], args[3], args[4], args[5], args[6]
	if err := mountOverlay(target, upper, work); err != nil {
		_ = os.WriteFile(refusals, []byte(kernelRelease()+" "+err.Error()), 0o600)
		if err := unix.Mount(private, target, "", unix.MS_BIND, ""); err != nil {
			fmt.Fprintf(os.Stderr, "sbox: ~/.cache: %v\n", err)
			return StatusRefused
		}
	}
	if err := dropAmbient(); err != nil {
		fmt.Fprintf(os.Stderr, "sbox: %v\n", err)
		return StatusRefused
	}
	// The start of this program has taken part of the block away.
	if _, err := blockSignals(); err != nil {
		fmt.Fprintf(os.Stderr, "sbox: %v\n", err)
		return StatusRefused
	}
	err := syscall.Exec(path, args[7:], []string{})
	fmt.Fprintf(os.Stderr, "sbox: %s: %v\n", path, err)
	return StatusRefused
}

func mountOverlay(target, upper, work string) error {
	for _, p := range []string{target, upper, work} {
		if strings.ContainsAny(p, `,:\`) {
			return fmt.Errorf("%q cannot be named in mount options", p)
		}
	}
	opts := "lowerdir=" + target + ",upperdir=" + upper + ",workdir=" + work
	err := unix.Mount("overlay", target, "overlay", unix.MS_NOSUID|unix.MS_NODEV, opts+",userxattr")
	if err != nil && os.Geteuid() == 0 {
		err = unix.Mount("overlay", target, "overlay", unix.MS_NOSUID|unix.MS_NODEV, opts)
	}
	return err
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
