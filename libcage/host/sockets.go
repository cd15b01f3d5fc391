package host

import (
	"path/filepath"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
)

// Sockets are the container engines' sockets of this machine, by their real
// paths.
type Sockets struct {
	// glob lists the paths of a pattern, real follows links.
	glob func(pattern string) ([]string, error)
	real func(path string) (string, error)
}

// ThisMachine returns the sockets of this machine.
func ThisMachine() Sockets { return Sockets{glob: filepath.Glob, real: filepath.EvalSymlinks} }

// Refuse returns a *SocketError if one of the known sockets, or one of the
// others given, is at a path or below it. All paths are real ones but others'.
func (s Sockets) Refuse(path string, others ...string) error {
	for _, pattern := range append(needs.EngineSockets(), others...) {
		found, err := s.glob(pattern)
		if err != nil {
			continue // a path with the characters of a pattern
		}
		for _, socket := range found {
			at, err := s.real(socket)
			if err == nil && (at == path || Within(at, path)) {
				return &SocketError{at}
			}
		}
	}
	return nil
}
