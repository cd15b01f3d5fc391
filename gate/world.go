package gate

import (
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/policy"
	"github.com/agent-cage/agent-cage/zone"
)

// load reads what a decision rests on besides the call itself.
func (e Env) load() (Config, zone.Zone, error) {
	home, err := e.homeDir()
	if err != nil {
		return Config{}, zone.Zone{}, err
	}
	return LoadConfig(home, e.System, e.UID)
}

// world puts together the classifier's world for calls in the directory cwd.
func (e Env) world(c Config, z zone.Zone, cwd string) policy.World {
	w := policy.World{
		Zone: z, FS: newDiskFS(), UID: uint32(e.UID), Env: e.Environ, SelfDir: e.SelfDir,
		Helpers: c.Helpers, MCPTools: c.MCPAllow,
		Remembered: e.remembered(c, z), NetworkGit: e.networkGit(c, z),
	}
	var err error
	if w.ProjectEnv, err = projectEnv(cwd, e.getenv("CLAUDE_PROJECT_DIR"), z.Home); err != nil {
		w.ProjectEnvFault = err.Error()
	}
	return w
}

// diskFS is the machine's file system. It asks once about each name, so that
// one decision sees one state and the same parents cost nothing twice.
type diskFS struct {
	mu    sync.Mutex
	known map[string]answer
}

type answer struct {
	stat policy.Stat
	err  error
}

func newDiskFS() *diskFS { return &diskFS{known: map[string]answer{}} }

func (d *diskFS) Lstat(name string) (policy.Stat, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a, ok := d.known[name]
	if !ok {
		a.stat, a.err = lstat(name)
		d.known[name] = a
	}
	return a.stat, a.err
}

func (d *diskFS) Readlink(name string) (string, error) { return os.Readlink(name) }

func lstat(name string) (policy.Stat, error) {
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		return policy.Stat{}, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	mode := fs.FileMode(st.Mode & 0o777)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	default:
		mode |= fs.ModeIrregular
	}
	if st.Mode&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return policy.Stat{Mode: mode, UID: st.Uid, Links: uint64(st.Nlink)}, nil
}
