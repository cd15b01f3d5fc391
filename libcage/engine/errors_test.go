package engine

import "testing"

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
		`Unknown runtime specified bogus`:                           RuntimeProblem,
		`unknown or invalid runtime name: bogus`:                    RuntimeProblem,
		`network none-such not found`:                               NetworkProblem,
		`mkdir /var/lib/docker/overlay2/x: no space left on device`: SpaceProblem,
		`Mounts denied: the path /x is not shared from the host`:    MountProblem,
		`something else`: OtherProblem,
	} {
		if got := problemOf(message); got != want {
			t.Errorf("%s: got %s, want %s", message, got, want)
		}
	}
}
