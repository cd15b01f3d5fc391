//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/zone"
)

// isAhead divides a cage's mounts into those that the stage makes ahead of
// bubblewrap and those that bubblewrap makes itself: in /proc, which belongs to
// its namespaces. bubblewrap reads the whole mount table for each
// mount that it makes, which with hundreds of them is most of a cage's cost;
// the kernel's newer calls need no table.
func isAhead(target string) bool { return !zone.Within(target, "/proc") }

// afterStage are the mounts that are left to bubblewrap.
func afterStage(mounts []Mount) []Mount {
	var out []Mount
	for _, mt := range mounts {
		if !isAhead(mt.Target) {
			out = append(out, mt)
		}
	}
	return out
}

// tree is the cage's file system as the stage builds it: a copy of the host's
// mounts, which bubblewrap makes its root.
type tree struct {
	root  int // the copy's root directory
	blank int // an empty directory that cannot be written; -1 until it is used
}

const (
	cloned   = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC
	attached = unix.MOVE_MOUNT_F_EMPTY_PATH | unix.MOVE_MOUNT_T_EMPTY_PATH
	// tame are the attributes of every mount but devices.
	tame = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
)

// newTree copies the host's mounts, read-only, to a directory of this mount
// namespace.
func newTree(at string) (*tree, error) {
	root, err := unix.OpenTree(unix.AT_FDCWD, "/", cloned|unix.AT_RECURSIVE)
	if err != nil {
		return nil, fmt.Errorf("open_tree: %w", err)
	}
	if err := restrict(root, tame|unix.MOUNT_ATTR_RDONLY); err != nil {
		return nil, err
	}
	if err := unix.MoveMount(root, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return nil, &os.PathError{Op: "move_mount", Path: at, Err: err}
	}
	return &tree{root: root, blank: -1}, nil
}

// restrict takes from a copied source what a mount of its kind may not do.
func (m *planned) restrict(source int) error {
	switch m.Kind {
	case ReadOnly:
		return restrict(source, tame|unix.MOUNT_ATTR_RDONLY)
	case Device:
		return restrict(source, unix.MOUNT_ATTR_NOSUID)
	}
	return restrict(source, tame)
}

// restrict sets attributes of a mount and all that is mounted below it.
func restrict(fd int, attributes uint64) error {
	err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attributes})
	if err != nil {
		return fmt.Errorf("mount_setattr: %w", err)
	}
	return nil
}

// mount makes one mount of the cage in the tree.
func (t *tree) mount(m *planned) error {
	switch m.Kind {
	case ReadOnly, Writable, Pin, Device:
		if m.Target == "/" {
			return nil // the tree itself
		}
		source, err := m.open()
		if err != nil {
			return err
		}
		defer unix.Close(source)
		if err := m.restrict(source); err != nil {
			return err
		}
		return t.attach(source, m.Target, isDir(source))
	case HideFile:
		null, err := unix.OpenTree(unix.AT_FDCWD, "/dev/null", cloned)
		if err != nil {
			return &os.PathError{Op: "open_tree", Path: "/dev/null", Err: err}
		}
		defer unix.Close(null)
		if err := restrict(null, unix.MOUNT_ATTR_NOSUID); err != nil {
			return err
		}
		return t.attach(null, m.Target, false)
	case HideDir:
		return t.hideDir(m.Target)
	case Empty:
		fd, err := memory(m.Perms, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return t.attach(fd, m.Target, true)
	case Symlink:
		dir, err := t.openOrMake(filepath.Dir(m.Target), true)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		return unix.Symlinkat(m.Source, dir, filepath.Base(m.Target))
	case Overlay:
		return t.overlay(m)
	case Dev:
		return t.dev(m.Target)
	}
	return fmt.Errorf("a mount of kind %q cannot be made ahead of bubblewrap", m.Kind)
}

// hideDir shows the same empty directory in the place of each.
func (t *tree) hideDir(target string) (err error) {
	var fd int
	if t.blank < 0 {
		fd, err = memory(0o555, unix.MOUNT_ATTR_RDONLY)
	} else {
		fd, err = unix.OpenTree(t.blank, "", cloned|unix.AT_EMPTY_PATH)
	}
	if err != nil {
		return err
	}
	if err := t.attach(fd, target, true); err != nil {
		unix.Close(fd)
		return err
	}
	if t.blank < 0 {
		t.blank = fd // it can be copied now that it has its place
		return nil
	}
	return unix.Close(fd)
}

// memory is an empty memory file system that is not mounted yet.
func memory(perms uint32, more int) (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("tmpfs: %w", err)
	}
	defer unix.Close(fs)
	if err = unix.FsconfigSetString(fs, "mode", strconv.FormatUint(uint64(perms), 8)); err == nil {
		err = unix.FsconfigCreate(fs)
	}
	if err != nil {
		return -1, fmt.Errorf("tmpfs: %w", err)
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, tame|more)
}

// open copies a mount's source, which is what was planned and, where that is
// Checked, is reached without a link.
func (m *planned) open() (int, error) {
	flags := uint(cloned | unix.AT_RECURSIVE)
	if !m.Checked {
		fd, err := unix.OpenTree(unix.AT_FDCWD, m.Source, flags)
		return fd, pathError(m.Source, err)
	}
	at, err := unix.Openat2(unix.AT_FDCWD, m.Source, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return -1, pathError(m.Source, err)
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil || !m.is(&st) {
		return -1, changedError(m.Source)
	}
	fd, err := unix.OpenTree(at, "", flags|unix.AT_EMPTY_PATH)
	return fd, pathError(m.Source, err)
}

// pathError says which path an error is about. A link where the plan saw none
// is somebody else's doing.
func pathError(p string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return changedError(p)
	}
	return &os.PathError{Op: "mount", Path: p, Err: err}
}

// attach puts a mount at a place in the tree.
func (t *tree) attach(fd int, target string, dir bool) error {
	at, err := t.openOrMake(target, dir)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return pathError(target, unix.MoveMount(fd, "", at, "", attached))
}

// openAt opens a place in the tree, following no link.
func (t *tree) openAt(target string) (int, error) {
	rel := strings.TrimPrefix(target, "/")
	if rel == "" {
		rel = "."
	}
	return unix.Openat2(t.root, rel, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH})
}

// openOrMake also makes what is missing, which it can in the cage's own
// memory file systems only: all else is read-only, or was there when the cage
// was planned.
func (t *tree) openOrMake(target string, dir bool) (int, error) {
	at, err := t.openAt(target)
	if !errors.Is(err, unix.ENOENT) || !zone.Within(target, "/run") && !zone.Within(target, "/var/run") && !zone.Within(target, "/dev") {
		return at, pathError(target, err)
	}
	parent, err := t.openOrMake(filepath.Dir(target), true)
	if err != nil {
		return -1, err
	}
	defer unix.Close(parent)
	if dir {
		err = unix.Mkdirat(parent, filepath.Base(target), 0o755)
	} else {
		err = unix.Mknodat(parent, filepath.Base(target), unix.S_IFREG|0o444, 0)
	}
	if err != nil {
		return -1, pathError(target, err)
	}
	at, err = t.openAt(target)
	return at, pathError(target, err)
}

func isDir(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// overlay lays the cage's cache over the host's.
func (t *tree) overlay(m *planned) error {
	at, err := t.openAt(m.Target)
	if err != nil {
		return pathError(m.Target, err)
	}
	defer unix.Close(at)
	for _, p := range []string{m.Source, m.Upper, m.Work} {
		if strings.ContainsAny(p, `,:\`) {
			return &overlayError{fmt.Errorf("%q cannot be named in mount options", p)}
		}
	}
	target := "/proc/self/fd/" + strconv.Itoa(at)
	opts := "lowerdir=" + m.Source + ",upperdir=" + m.Upper + ",workdir=" + m.Work
	err = unix.Mount("overlay", target, "overlay", unix.MS_NOSUID|unix.MS_NODEV, opts+",userxattr")
	if err != nil && os.Geteuid() == 0 {
		err = unix.Mount("overlay", target, "overlay", unix.MS_NOSUID|unix.MS_NODEV, opts)
	}
	if err != nil {
		return &overlayError{err}
	}
	return nil
}

// overlayError says why the kernel does not lay one directory over another.
type overlayError struct{ err error }

func (e *overlayError) Error() string { return e.err.Error() }
