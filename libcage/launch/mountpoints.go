package launch

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/agent-cage/agent-cage/libcage/host"
	"github.com/agent-cage/agent-cage/libcage/plan"
)

// checkMountpoints refuses a mount whose place below another one is missing on
// the host: the engine would make it there, and root would own it. The error is
// a *host.RefusedError.
func checkMountpoints(mounts []plan.Mount) error {
	for _, m := range mounts {
		outer, ok := around(m, mounts)
		if !ok {
			continue
		}
		point := filepath.Join(outer.Source, strings.TrimPrefix(m.Target, outer.Target))
		if _, err := os.Lstat(point); errors.Is(err, fs.ErrNotExist) {
			return &host.RefusedError{
				What: "mount at", Path: m.Target,
				Reason: "it lies below " + outer.Target + ", where the engine would make it as root: first make " + point,
			}
		}
	}
	return nil
}

// around returns the innermost mount that another one lies in.
func around(m plan.Mount, mounts []plan.Mount) (outer plan.Mount, ok bool) {
	for _, o := range mounts {
		if strings.HasPrefix(m.Target, strings.TrimSuffix(path.Clean(o.Target), "/")+"/") && len(o.Target) > len(outer.Target) {
			outer, ok = o, true
		}
	}
	return outer, ok
}
