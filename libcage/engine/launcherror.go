package engine

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agent-cage/agent-cage/libcage/plan"
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
	DeviceProblem     Problem = "device"      // a device is missing, or nothing gives it
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
// Where an engine gives a refusal a kind, that has to fit too.
var problemTexts = []struct {
	problem Problem
	kind    error
	texts   []string
}{
	{SpaceProblem, nil, []string{"no space left on device", "disk quota exceeded"}},
	{ImageProblem, ErrNotFound, []string{"no such image"}},
	{NameProblem, ErrConflict, []string{"is already in use by container"}},
	{RuntimeProblem, nil, []string{"unknown or invalid runtime", "unknown runtime", "runtime name"}},
	{DeviceProblem, nil, []string{
		"could not select device driver", "error gathering device information", "cdi device", "nvidia-container-cli",
	}},
	{PathProblem, nil, []string{"file name too long"}},
	{MountProblem, nil, []string{
		"invalid mount config", "bind source path does not exist", "duplicate mount point",
		"error mounting", "rootfs_linux.go", "error while creating mount source path", "mounts denied",
		"is not shared from the host", "mount destination",
	}},
	{NetworkProblem, nil, []string{"network"}},
	{EntrypointProblem, nil, []string{"executable file not found", "exec: ", "no such file or directory", "exec format error", "permission denied"}},
}

// launchError types a refusal of the engine. Other errors stay what they are.
// Words are paths of the request's own, which the engine may repeat: they say
// nothing about the problem.
func launchError(step string, err error, words []string) error {
	var refused *ResponseError
	if !errors.As(err, &refused) {
		return err
	}
	return &LaunchError{Step: step, Problem: problemOf(refused, words), Message: refused.Message, Err: err}
}

func problemOf(refused *ResponseError, words []string) Problem {
	message := strings.ToLower(without(refused.Message, words))
	for _, candidate := range problemTexts {
		if candidate.kind != nil && !refused.Is(candidate.kind) {
			continue
		}
		for _, text := range candidate.texts {
			if strings.Contains(message, text) {
				return candidate.problem
			}
		}
	}
	return OtherProblem
}

// without takes paths out of a text, longer ones first. Their parents are taken
// out with them, since an engine may fail at one.
func without(text string, words []string) string {
	var all []string
	for _, word := range words {
		for ; path.IsAbs(word) && word != "/"; word = path.Dir(word) {
			all = append(all, word)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	for _, word := range all {
		text = strings.ReplaceAll(text, word, "…")
	}
	return text
}

// wordsOf are the paths of a plan, and its name as engines write it.
func wordsOf(p *plan.Plan) []string {
	words := []string{"/" + p.Name}
	for _, m := range p.Mounts {
		words = append(words, m.Source, m.Target)
	}
	for _, t := range p.Tmpfs {
		words = append(words, t.Target)
	}
	return words
}
