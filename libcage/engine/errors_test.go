package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

// The texts are those of Docker 20.10 to 28.
func TestProblems(t *testing.T) {
	for message, want := range map[string]Problem{
		`invalid mount config for type "bind": bind source path does not exist: /x`: MountProblem,
		`No such image: x:latest`: ImageProblem,
		`Conflict. The container name "/x" is already in use by container "0". You have to remove (or rename) that container to be able to reuse that name.`:                                                                       NameProblem,
		`OCI runtime create failed: container_linux.go:380: starting container process caused: exec: "nope": executable file not found in $PATH: unknown`:                                                                          EntrypointProblem,
		`failed to create task for container: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "/x": stat /x: no such file or directory: unknown`:               EntrypointProblem,
		`failed to create task for container: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: error mounting "/a" to rootfs at "/b": x`: MountProblem,
		`runc create failed: unable to start container process: error during container init: error mounting "/a" to rootfs at "/a": mkdir /x/a: file name too long: unknown`:                                                       PathProblem,
		`Unknown runtime specified bogus`:                                                                     RuntimeProblem,
		`unknown or invalid runtime name: bogus`:                                                              RuntimeProblem,
		`network none-such not found`:                                                                         NetworkProblem,
		`mkdir /var/lib/docker/overlay2/x: no space left on device`:                                           SpaceProblem,
		`Mounts denied: the path /x is not shared from the host`:                                              MountProblem,
		`could not select device driver "" with capabilities: [[gpu]]`:                                        DeviceProblem,
		`error gathering device information while adding custom device "/dev/kvm": no such file or directory`: DeviceProblem,
		`CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=all`:                            DeviceProblem,
		`error during container init: error running prestart hook #0: exit status 1: nvidia-container-cli: initialization error: nvml error`: DeviceProblem,
		`something else`: OtherProblem,
	} {
		refused := &ResponseError{Message: message, kind: map[Problem]error{ImageProblem: ErrNotFound, NameProblem: ErrConflict}[want]}
		if got := problemOf(refused, nil); got != want {
			t.Errorf("%s: got %s, want %s", message, got, want)
		}
	}
}

// A path or a name that reads like a problem is none.
func TestProblemsAreNotThoseOfPaths(t *testing.T) {
	p := &plan.Plan{
		Name: "exec: network",
		Mounts: []plan.Mount{
			{Source: "/srv/no space left on device/p", Target: "/srv/no space left on device/p"},
			{Source: "/home/a/no such image", Target: "/mnt/network"},
		},
		Tmpfs: []plan.Tmpfs{{Target: "/run/unknown runtime"}},
	}
	for message, want := range map[string]Problem{
		`bind source path does not exist: /srv/no space left on device/p`:                MountProblem,
		`mkdir /var/lib/x/merged/srv/no space left on device: file name too long`:        PathProblem,
		`error mounting "/home/a/no such image" to rootfs at "/mnt/network": x`:          MountProblem,
		`exec: "/x": permission denied in /run/unknown runtime and /srv/No Space`:        EntrypointProblem,
		`something odd about /mnt/network`:                                               OtherProblem,
		`something odd about /exec: network`:                                             OtherProblem,
		`no such image and is already in use by container, but the engine gives no kind`: OtherProblem,
		`mkdir /srv/no space left on device/p: no space left on device`:                  SpaceProblem,
		`endpoint for /exec: network: network agent-cage not found at /mnt/network`:      NetworkProblem,
	} {
		if got := problemOf(&ResponseError{Message: message}, wordsOf(p)); got != want {
			t.Errorf("%s: got %s, want %s", message, got, want)
		}
	}
}

func TestNoPassword(t *testing.T) {
	const host = "http://user:s3cret%2Fpw@127.0.0.1:1"
	cause := errors.New(`Get "http://user:s3cret/pw@127.0.0.1:1/_ping": refused`)
	for _, err := range []error{
		&EndpointError{Source: "DOCKER_HOST", Value: host, Err: cause},
		&UnreachableError{Endpoint: host, Err: cause},
		&VersionError{Endpoint: host, Version: "1.20", Required: MinAPIVersion},
	} {
		if text := err.Error(); strings.Contains(text, "s3cret") || !strings.Contains(text, "user:xxxxx@127.0.0.1") {
			t.Errorf("%T: %s", err, text)
		}
	}
	for host, want := range map[string]string{
		"ssh://root:pw@box":     "ssh://root:xxxxx@box",
		"ssh://root@box":        "ssh://root@box",
		"unix:///run/user:x@/s": "unix:///run/user:x@/s",
	} {
		if got := (Endpoint{Host: host}).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
