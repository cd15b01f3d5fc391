package boxinit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/handshake"
	"github.com/agent-cage/agent-cage/libcage/plan"
)

// node makes a device that opens as /dev/null does, or one without a driver.
func node(t *testing.T, root, path string, opens bool) {
	t.Helper()
	device := unix.Mkdev(1, 3)
	if !opens {
		device = unix.Mkdev(255, 7) // 234 to 254 and 255 are nobody's
	}
	path = filepath.Join(root, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), unix.Mknod(path, unix.S_IFCHR|0o600, int(device))); err != nil {
		t.Fatal(err)
	}
}

func TestOpenDevices(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make devices")
	}
	all := []plan.GPU{{Count: -1, Reason: "--gpus"}}
	for _, tt := range []struct {
		name          string
		opens, closed []string
		plan          plan.Plan
		want          string
	}{
		{"nothing asked for", nil, nil, plan.Plan{}, ""},
		{"the engine's own", []string{"/dev/fuse"}, nil, plan.Plan{Devices: []plan.Device{{Path: "/dev/fuse"}}}, ""},
		{"the engine's own, without a driver", nil, []string{"/dev/fuse"}, plan.Plan{Devices: []plan.Device{{Path: "/dev/fuse"}}}, ""},
		{"kvm", []string{"/dev/kvm"}, nil, plan.Plan{Devices: []plan.Device{{Path: "/dev/kvm", Required: true, Reason: "--kvm"}}}, ""},
		{"kvm without a processor for it", nil, []string{"/dev/kvm"}, plan.Plan{Devices: []plan.Device{{Path: "/dev/kvm", Required: true, Reason: "--kvm"}}}, "--kvm: /dev/kvm does not open in the box (open "},
		{"a directory", []string{"/dev/dri/card0", "/dev/dri/renderD128"}, nil, plan.Plan{Devices: []plan.Device{{Path: "/dev/dri", Required: true, Reason: "--gpus"}}}, ""},
		{"a directory of nothing that opens", nil, []string{"/dev/dri/card0"}, plan.Plan{Devices: []plan.Device{{Path: "/dev/dri", Required: true, Reason: "--gpus"}}}, "--gpus: /dev/dri does not open"},
		{"GPUs of a driver", []string{"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"}, nil, plan.Plan{GPUs: all}, ""},
		{"GPUs of a driver that gives none", []string{"/dev/nvidiactl"}, nil, plan.Plan{GPUs: all}, "--gpus: 0 of the GPUs in the box open, all were asked for (no such device is there)"},
		{"GPUs that do not open", []string{"/dev/nvidiactl"}, []string{"/dev/nvidia0"}, plan.Plan{GPUs: all}, "--gpus: 0 of the GPUs in the box open, all were asked for (open "},
		{"two of two", []string{"/dev/nvidia0", "/dev/nvidia1"}, nil, plan.Plan{GPUs: []plan.GPU{{Count: 2, Reason: "--gpus"}}}, ""},
		{"one of two", []string{"/dev/nvidia0"}, []string{"/dev/nvidia1"}, plan.Plan{GPUs: []plan.GPU{{Count: 2, Reason: "--gpus"}}}, "1 of the GPUs in the box open, 2 were asked for"},
		{"by name", []string{"/dev/dri/renderD128"}, nil, plan.Plan{GPUs: []plan.GPU{{Driver: plan.CDI, IDs: []string{"amd.com/gpu=0"}}}}, ""},
		{"by name, none", nil, nil, plan.Plan{GPUs: []plan.GPU{{Driver: plan.CDI, IDs: []string{"amd.com/gpu=0"}, Reason: "--gpus"}}}, "amd.com/gpu=0 were asked for"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &box{root: t.TempDir(), run: &handshake.Run{Plan: tt.plan}, harnessIDs: ids{1234, 1234}}
			// The harness has to get there.
			if err := errors.Join(os.Chmod(filepath.Dir(b.root), 0o755), os.Chmod(b.root, 0o755)); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(b.root, "dev"), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, path := range tt.opens {
				node(t, b.root, path, true)
			}
			for _, path := range tt.closed {
				node(t, b.root, path, false)
			}
			err := b.openDevices()
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			fault := exitstatus.AsFault(exitstatus.Usage, err)
			if err == nil || fault.Kind != exitstatus.EngineStartFailed || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
