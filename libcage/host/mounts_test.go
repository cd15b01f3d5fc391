package host

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/libcage/face"
)

func TestResolveMounts(t *testing.T) {
	root := realTempDir(t)
	home := filepath.Join(root, "homes", "a")
	data := filepath.Join(root, "data")
	for _, d := range []string{home, data} {
		must(t, os.MkdirAll(d, 0o755))
	}
	must(t, os.Symlink(data, filepath.Join(root, "link")))
	must(t, syscall.Mkfifo(filepath.Join(root, "fifo"), 0o600))
	socket := filepath.Join(root, "engine.sock")
	listener, err := net.Listen("unix", socket)
	must(t, err)
	defer listener.Close()
	must(t, os.Symlink(socket, filepath.Join(root, "innocent")))
	caller := &Caller{Home: home}
	resolve := func(source string) ([]face.Mount, error) {
		return ResolveMounts([]face.Mount{{Source: source, Target: "/x", ReadOnly: true}}, caller)
	}

	got, err := resolve(filepath.Join(root, "link"))
	if diff := cmp.Diff([]face.Mount{{Source: data, Target: "/x", ReadOnly: true}}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, path := range []string{socket, filepath.Join(root, "innocent")} {
		var s *SocketError
		if _, err := resolve(path); !errors.As(err, &s) {
			t.Errorf("%s: got %v, want a *SocketError", path, err)
		}
	}
	for path, want := range map[string]string{
		filepath.Join(root, "missing"): "does not exist",
		filepath.Join(root, "fifo"):    "neither a directory nor a regular file",
		home:                           "your home directory",
		filepath.Join(root, "homes"):   "contains your home directory",
		"/":                            "contains your home directory",
	} {
		_, err := resolve(path)
		checkRefused(t, path, "", err, "", want)
	}
}
