package boxinit

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/plan"
)

// What drivers for containers put into a box for a GPU: the processors
// themselves, and what goes with them.
var (
	processors = []string{"/dev/nvidia[0-9]*", "/dev/dri/renderD*", "/dev/kfd", "/dev/dxg", "/dev/accel/accel*"}
	companions = []string{"/dev/nvidia*", "/dev/nvidia-caps/*", "/dev/dri/card*"}
)

// openDevices lets the harness and its engine open the devices of the plan also
// where the host lets root alone, or a group: the nodes have the host's modes.
// A device that was asked for and does not open ends the run.
func (b *box) openDevices() error {
	for _, d := range b.run.Plan.Devices {
		nodes, err := b.nodes(d.Path)
		if err != nil {
			return fmt.Errorf("%s: %w", d.Path, err)
		}
		if err := b.openNodes(nodes); err != nil {
			return err
		}
		if d.Required && b.opening(nodes) == 0 {
			return exitstatus.Faultf(exitstatus.EngineStartFailed,
				"%s: %s does not open in the box (%s): see its driver on the engine's machine, or leave the flag out", d.Reason, d.Path, b.refusal(nodes))
		}
	}
	if len(b.run.Plan.GPUs) == 0 {
		return nil
	}
	found := b.glob(processors)
	if err := b.openNodes(append(b.glob(companions), found...)); err != nil {
		return err
	}
	opens := b.opening(found)
	for _, g := range b.run.Plan.GPUs {
		if opens < max(1, g.Count) {
			return exitstatus.Faultf(exitstatus.EngineStartFailed,
				"%s: %d of the GPUs in the box open, %s (%s): see the driver on the engine's machine, or leave the flag out", g.Reason, opens, wanted(g), b.refusal(found))
		}
	}
	return nil
}

func wanted(g plan.GPU) string {
	switch {
	case len(g.IDs) > 0:
		return strings.Join(g.IDs, ", ") + " were asked for"
	case g.Count < 0:
		return "all were asked for"
	}
	return fmt.Sprintf("%d were asked for", g.Count)
}

// nodes are the device at a path, or those in the directory there.
func (b *box) nodes(path string) (list []string, err error) {
	err = filepath.WalkDir(filepath.Join(b.root, path), func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type()&fs.ModeCharDevice != 0 {
			list = append(list, name)
		}
		return err
	})
	return list, err
}

// glob are the nodes that the patterns fit.
func (b *box) glob(patterns []string) (list []string) {
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(b.root, p))
		if err != nil {
			panic(err) // the patterns are constants
		}
		list = append(list, found...)
	}
	return list
}

// openNodes makes nodes everybody's in the box. One that is not the box's own
// but the host's, bound into it, stays as it is.
func (b *box) openNodes(nodes []string) error {
	var dev unix.Stat_t
	if err := unix.Lstat(filepath.Join(b.root, "/dev"), &dev); err != nil {
		return fmt.Errorf("/dev: %w", err)
	}
	for _, path := range nodes {
		var node unix.Stat_t
		if err := unix.Lstat(path, &node); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if node.Mode&unix.S_IFMT != unix.S_IFCHR || node.Dev != dev.Dev {
			continue
		}
		if err := unix.Chmod(path, 0o666); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// opening is how many of the nodes the harness can open.
func (b *box) opening(nodes []string) (n int) {
	for _, path := range nodes {
		if b.tryDevice(path) == nil {
			n++
		}
	}
	return n
}

func (b *box) tryDevice(path string) error {
	return asUser(b.harnessIDs, func() error {
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		return f.Close()
	})
}

// refusal says why the first node that does not open does not.
func (b *box) refusal(nodes []string) string {
	for _, path := range nodes {
		if err := b.tryDevice(path); err != nil {
			return err.Error()
		}
	}
	return "no such device is there"
}
