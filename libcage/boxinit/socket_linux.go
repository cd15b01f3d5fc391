package boxinit

import (
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

// enginePaths are where container engines listen. A mount may begin anywhere
// along them, so every end of each is looked for below every mount.
var enginePaths = []string{
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

// kernelFS are file systems in which no socket can be.
var kernelFS = map[string]bool{
	"proc": true, "sysfs": true, "cgroup": true, "cgroup2": true, "devpts": true, "mqueue": true,
}

// refuseSocket makes sure that nothing of the host's container engine has been
// mounted into the box: whoever can talk to it is root on the host.
func (b *box) refuseSocket() error {
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	if found := engineSocket(b.root, mounts); found != "" {
		return exitstatus.Faultf(exitstatus.EngineStartFailed, "FATAL: %s is mounted from the host", found)
	}
	b.mounts = mounts
	return nil
}

// engineSocket returns the path in the box of an engine's socket, or "". A
// mount that is itself a socket is one under whatever name.
func engineSocket(root string, mounts mountTable) string {
	ends := ends(enginePaths)
	for _, m := range mounts {
		if m.Point == "/" || kernelFS[m.FSType] {
			continue
		}
		if isSocket(path.Join(root, m.Point)) {
			return m.Point
		}
		for _, e := range ends {
			if !e.fits(m) {
				continue
			}
			hits, _ := filepath.Glob(path.Join(escapeGlob(path.Join(root, m.Point)), e.tail))
			for _, hit := range hits {
				if isSocket(hit) {
					return path.Join("/", strings.TrimPrefix(hit, path.Clean(root)))
				}
			}
		}
	}
	return ""
}

// end is a tail of an engine's path, and the directory that it is found in.
type end struct{ dir, tail string }

// fits spares the search of every directory of a large mount: an end that
// begins with a wildcard is looked for only where the mount can be the
// directory above it.
func (e end) fits(m mount) bool {
	return !strings.HasPrefix(e.tail, "*") || m.Root == "/" || path.Base(m.Root) == e.dir
}

// ends returns every tail of the paths, once.
func ends(paths []string) []end {
	var out []end
	seen := map[end]bool{}
	for _, p := range paths {
		e := end{tail: strings.TrimPrefix(p, "/")}
		for e.tail != "" {
			if !seen[e] {
				seen[e] = true
				out = append(out, e)
			}
			e.dir, e.tail, _ = strings.Cut(e.tail, "/")
		}
	}
	return out
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

func isSocket(p string) bool {
	var st unix.Stat_t
	return unix.Stat(p, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK
}
