// Package posture decides what kind of container engine a box has inside, and
// what the box is given for it.
package posture

import (
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/posture/seccomp"
)

// SeccompName is what people call the profile that Seccomp returns.
const SeccompName = seccomp.Name

// Seccomp returns the JSON of the system call filter of a box, the same in
// every posture that has one.
func Seccomp() string { return seccomp.Profile }

// Resolve turns the mode that was asked for into a posture. The error is an
// *exitstatus.Fault: a mode that this version has not got.
func Resolve(asked plan.Mode) (plan.Posture, error) {
	switch asked {
	case plan.None:
		return plan.Posture{Mode: plan.None, Reasons: []string{"--engine none"}}, nil
	case plan.Auto:
		return plan.Posture{Mode: plan.None, Reasons: []string{"auto: this version has no engine inside the box"}}, nil
	default:
		return plan.Posture{}, exitstatus.Faultf(exitstatus.EngineStartFailed,
			"--engine %s: this version has no engine inside the box: use --engine none", asked)
	}
}
