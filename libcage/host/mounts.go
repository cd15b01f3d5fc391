package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agent-cage/agent-cage/libcage/face"
)

// ResolveMounts returns mounts with the real paths of their sources. The error
// of one that is missing, or that is a socket, is a *RefusedError.
func ResolveMounts(mounts []face.Mount) ([]face.Mount, error) {
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
		if !info.IsDir() && !info.Mode().IsRegular() {
			return nil, &RefusedError{"mount source", m.Source, "it is neither a directory nor a regular file"}
		}
		m.Source = realPath
		resolved = append(resolved, m)
	}
	return resolved, nil
}
