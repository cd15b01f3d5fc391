package engine

import (
	"errors"
	"fmt"
	"strings"
)

// Problem is what keeps a container from being created or started.
type Problem string

// The problems that are told apart.
const (
	ImageProblem      Problem = "image"       // the image is not there
	NameProblem       Problem = "name"        // the name is taken
	PathProblem       Problem = "path"        // a source or target is too long for the engine
	MountProblem      Problem = "mount"       // a source is missing or cannot be mounted
	EntrypointProblem Problem = "entry point" // missing or not executable
	RuntimeProblem    Problem = "runtime"     // the OCI runtime is unknown
	NetworkProblem    Problem = "network"     // the network is unknown or cannot be joined
	SpaceProblem      Problem = "space"       // the engine's disk is full
	OtherProblem      Problem = "other"
)

// LaunchError is a container that the engine did not create or start.
type LaunchError struct {
	// Step is create, start or exec.
	Step    string
	Problem Problem
	// Message is the engine's own text.
	Message string
	Err     error
}

func (e *LaunchError) Error() string {
	return fmt.Sprintf("the engine did not %s the box: %s", e.Step, e.Message)
}

func (e *LaunchError) Unwrap() error { return e.Err }

// problemTexts are how engines since 20.10 word each problem, in the order in
// which they are looked for: a later text may be part of an earlier message.
var problemTexts = []struct {
	problem Problem
	texts   []string
}{
	{SpaceProblem, []string{"no space left on device", "disk quota exceeded"}},
	{ImageProblem, []string{"no such image"}},
	{NameProblem, []string{"is already in use by container"}},
	{RuntimeProblem, []string{"unknown or invalid runtime", "unknown runtime", "runtime name"}},
	{PathProblem, []string{"file name too long"}},
	{MountProblem, []string{
		"invalid mount config", "bind source path does not exist", "duplicate mount point",
		"error mounting", "rootfs_linux.go", "error while creating mount source path", "mounts denied",
		"is not shared from the host", "mount destination",
	}},
	{NetworkProblem, []string{"network"}},
	{EntrypointProblem, []string{"executable file not found", "exec: ", "no such file or directory", "exec format error", "permission denied"}},
}

// launchError types a refusal of the engine. Other errors stay what they are.
func launchError(step string, err error) error {
	var refused *ResponseError
	if !errors.As(err, &refused) {
		return err
	}
	return &LaunchError{Step: step, Problem: problemOf(refused.Message), Message: refused.Message, Err: err}
}

func problemOf(message string) Problem {
	message = strings.ToLower(message)
	for _, candidate := range problemTexts {
		for _, text := range candidate.texts {
			if strings.Contains(message, text) {
				return candidate.problem
			}
		}
	}
	return OtherProblem
}
