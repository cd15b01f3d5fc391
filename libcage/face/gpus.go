package face

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

// cdiName is a device as the Container Device Interface names it,
// vendor/class=name.
var cdiName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9]/[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9]=[A-Za-z0-9][A-Za-z0-9_.:-]*$`)

// gpuNode is a device node of a graphics processor, or a directory of them.
var gpuNode = regexp.MustCompile(`^/dev/(dri(/(card|renderD)[0-9]+)?|kfd|dxg|nvidia[0-9a-z-]*|accel(/accel[0-9]+)?)$`)

const notGPUs = "%q names no GPUs: give all, a number, device=ID,…, names of CDI (nvidia.com/gpu=0), or /dev/dri and /dev/kfd"

// gpus reads the value of --gpus: what a driver of the engine's is asked for,
// as the docker command takes it, or a list of CDI names and paths.
func gpus(v string) (requests []plan.GPU, devices []string, err error) {
	const reason = "--gpus"
	v = strings.Trim(v, `"`) // of docker's own notation: '"device=0,1"'
	if v == "all" {
		return []plan.GPU{{Count: -1, Reason: reason}}, nil, nil
	}
	if n, err := strconv.Atoi(v); err == nil {
		if n < 1 {
			return nil, nil, errors.New("needs one GPU at least: leave it out for none")
		}
		return []plan.GPU{{Count: n, Reason: reason}}, nil, nil
	}
	if ids, ok := strings.CutPrefix(v, "device="); ok {
		list := strings.Split(ids, ",")
		for _, id := range list {
			if id == "" || strings.ContainsAny(id, "\"= \t\n") {
				return nil, nil, fmt.Errorf(notGPUs, v)
			}
		}
		return []plan.GPU{{IDs: list, Reason: reason}}, nil, nil
	}
	cdi := plan.GPU{Driver: plan.CDI, Reason: reason}
	for _, name := range strings.Split(v, ",") {
		switch {
		case cdiName.MatchString(name):
			cdi.IDs = append(cdi.IDs, name)
		case gpuNode.MatchString(name):
			devices = append(devices, name)
		default:
			return nil, nil, fmt.Errorf(notGPUs, v)
		}
	}
	if len(cdi.IDs) > 0 {
		requests = append(requests, cdi)
	}
	return requests, devices, nil
}
