package host

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestEngineSocketsAreRefused(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(dir, "elsewhere")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(elsewhere, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(socket, link); err != nil {
		t.Fatal(err)
	}
	known := Sockets{real: filepath.EvalSymlinks, glob: func(pattern string) ([]string, error) {
		if pattern == "/var/run/docker.sock" {
			return []string{link}, nil
		}
		return nil, nil
	}}
	for path, refused := range map[string]bool{
		elsewhere: true, dir: true, socket: true, "/": true,
		filepath.Join(dir, "else"): false, filepath.Join(dir, "other"): false,
	} {
		err := known.Refuse(path)
		var found *SocketError
		if errors.As(err, &found) != refused || refused && found.Path != socket {
			t.Errorf("%s: %v", path, err)
		}
	}
	// One that only the caller's settings name.
	if err := ThisMachine().Refuse(dir, socket); err == nil {
		t.Error("the engine's own socket is not refused")
	}
}
