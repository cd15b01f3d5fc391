package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agent-cage/agent-cage/libcage/face"
)

// SocketError is a socket among the mounts. Behind a host's socket is a service
// of the host's, a container engine above all.
type SocketError struct{ Path string }

func (e *SocketError) Error() string {
	return fmt.Sprintf("%s is a socket of the host, and none gets into a box: take it out of the mounts", e.Path)
}

// ResolveMounts returns mounts with the real paths of their sources. The error
// is a *SocketError, or a *RefusedError for a source that is missing or that
// holds the caller's keys.
func ResolveMounts(mounts []face.Mount, c *Caller) ([]face.Mount, error) {
	var resolved []face.Mount
	for _, m := range mounts {
		realPath, err := filepath.EvalSymlinks(m.Source)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &RefusedError{"mount source", m.Source, "it does not exist: create it first"}
		}
		if err != nil {
			return nil, &RefusedError{"mount source", m.Source, cause(err)}
		}
		info, err := os.Stat(realPath)
		if err != nil {
			return nil, &RefusedError{"mount source", m.Source, cause(err)}
		}
		if info.Mode().Type() == fs.ModeSocket {
			return nil, &SocketError{m.Source}
		}
		if reason := cmp.Or(untellable(realPath), c.refusedHome(realPath)); reason != "" {
			return nil, &RefusedError{"mount source", m.Source, reason}
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return nil, &RefusedError{"mount source", m.Source, "it is neither a directory nor a regular file"}
		}
		m.Source = realPath
		resolved = append(resolved, m)
	}
	return resolved, nil
}
