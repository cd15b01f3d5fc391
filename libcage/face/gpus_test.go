package face

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

func TestGPUs(t *testing.T) {
	gpu := func(g plan.GPU) []plan.GPU {
		g.Reason = "--gpus"
		return []plan.GPU{g}
	}
	for value, want := range map[string]struct {
		requests []plan.GPU
		devices  []string
	}{
		"all":                         {requests: gpu(plan.GPU{Count: -1})},
		"2":                           {requests: gpu(plan.GPU{Count: 2})},
		"device=0,GPU-3a1b":           {requests: gpu(plan.GPU{IDs: []string{"0", "GPU-3a1b"}})},
		`"device=0,1"`:                {requests: gpu(plan.GPU{IDs: []string{"0", "1"}})},
		"nvidia.com/gpu=all":          {requests: gpu(plan.GPU{Driver: plan.CDI, IDs: []string{"nvidia.com/gpu=all"}})},
		"amd.com/gpu=0,amd.com/gpu=1": {requests: gpu(plan.GPU{Driver: plan.CDI, IDs: []string{"amd.com/gpu=0", "amd.com/gpu=1"}})},
		"/dev/kfd,/dev/dri":           {devices: []string{"/dev/kfd", "/dev/dri"}},
		"/dev/dri/renderD128":         {devices: []string{"/dev/dri/renderD128"}},
		"/dev/nvidia0,/dev/nvidiactl": {devices: []string{"/dev/nvidia0", "/dev/nvidiactl"}},
		"intel.com/gpu=0,/dev/dri":    {requests: gpu(plan.GPU{Driver: plan.CDI, IDs: []string{"intel.com/gpu=0"}}), devices: []string{"/dev/dri"}},
	} {
		requests, devices, err := gpus(value)
		if err != nil {
			t.Errorf("%s: %v", value, err)
		}
		if diff := cmp.Diff(want.requests, requests) + cmp.Diff(want.devices, devices); diff != "" {
			t.Errorf("%s: %s", value, diff)
		}
	}
	for _, value := range []string{
		"", "none", "-1", "0", "device=", "device=0,,1", "device=a b", "/dev", "/dev/sda", "/dev/mem", "/dev/dri/../sda", "/dev/dri/", "/dev/kfd,",
		"/dev/kvm", "dev/dri", "/sys/class/drm", "nvidia.com/gpu", "nvidia.com/gpu=", "all,/dev/dri", "gpu=0", "a/b=c d",
	} {
		if requests, devices, err := gpus(value); err == nil {
			t.Errorf("%q: got %v, %v", value, requests, devices)
		}
	}
}
