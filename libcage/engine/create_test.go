package engine

import (
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

// The requests are those that the docker command makes of --gpus and --device.
func TestDeviceRequests(t *testing.T) {
	hc := hostConfig(&plan.Plan{
		GPUs: []plan.GPU{
			{Count: -1},
			{IDs: []string{"0", "1"}},
			{Driver: plan.CDI, IDs: []string{"amd.com/gpu=0"}},
		},
		Devices: []plan.Device{{Path: "/dev/dri", Required: true}},
	})
	want := []container.DeviceRequest{
		{Count: -1, Capabilities: [][]string{{"gpu"}}},
		{DeviceIDs: []string{"0", "1"}, Capabilities: [][]string{{"gpu"}}},
		{Driver: "cdi", DeviceIDs: []string{"amd.com/gpu=0"}},
	}
	if diff := cmp.Diff(want, hc.DeviceRequests); diff != "" {
		t.Error(diff)
	}
	mapped := []container.DeviceMapping{{PathOnHost: "/dev/dri", PathInContainer: "/dev/dri", CgroupPermissions: "rwm"}}
	if diff := cmp.Diff(mapped, hc.Devices); diff != "" {
		t.Error(diff)
	}
	if requests := hostConfig(&plan.Plan{}).DeviceRequests; requests != nil {
		t.Errorf("unasked: %v", requests)
	}
}
