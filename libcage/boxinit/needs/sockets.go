package needs

// EngineSockets are where container engines listen. A star stands for one name.
// A mount may begin anywhere along them, so cage-init looks for every end of
// each below every mount.
func EngineSockets() []string {
	return []string{
		"/var/run/docker.sock",
		"/var/run/docker/docker.sock",
		"/var/run/docker/containerd/containerd.sock",
		"/var/run/docker/metrics.sock",
		"/var/run/containerd/containerd.sock",
		"/var/run/containerd/containerd.sock.ttrpc",
		"/var/run/podman/podman.sock",
		"/var/run/crio/crio.sock",
		"/var/run/buildkit/buildkitd.sock",
		"/var/run/cri-dockerd.sock",
		"/var/run/k3s/containerd/containerd.sock",
		"/var/run/user/*/docker.sock",
		"/var/run/user/*/podman/podman.sock",
		"/var/run/user/*/containerd/containerd.sock",
		"/var/run/user/*/buildkit/buildkitd.sock",
		"/var/run/user/*/docker/containerd/containerd.sock",
		"/var/snap/docker/common/run/docker.sock",
		"/home/*/.docker/run/docker.sock",
		"/home/*/.docker/desktop/docker.sock",
		"/home/*/.docker/desktop/docker-cli.sock",
		"/home/*/.colima/*/docker.sock",
		"/home/*/.colima/*/containerd.sock",
		"/home/*/.lima/*/sock/docker.sock",
		"/home/*/.rd/docker.sock",
		"/home/*/.orbstack/run/docker.sock",
		"/home/*/.local/share/containers/podman/machine/*/podman.sock",
		"/home/*/.local/share/containers/podman/machine/podman.sock",
	}
}
