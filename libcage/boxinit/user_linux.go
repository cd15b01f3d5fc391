package boxinit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// makeUser makes the harness's account and home, and the ways to its mounts.
func (b *box) makeUser() error {
	u := b.run.Plan.User
	want := account{Name: u.Name, UID: u.UID, GID: u.GID, Home: filepath.Clean(u.Home), Shell: b.shell()}
	if !filepath.IsAbs(u.Home) || want.Home == "/" {
		return fmt.Errorf("home %q is not a directory of its own", u.Home)
	}
	if err := b.writeAccounts(want); err != nil {
		return err
	}
	if err := b.makeHome(); err != nil {
		return err
	}
	for _, m := range b.run.Plan.Mounts {
		if err := b.openWay(m.Target); err != nil {
			return err
		}
	}
	return b.makeWorkDir()
}

func (b *box) shell() string {
	const bash = "/bin/bash"
	if cannotExecute(filepath.Join(b.root, bash)) == "" {
		return bash
	}
	return "/bin/sh"
}

// writeAccounts writes the files of /etc that change.
func (b *box) writeAccounts(want account) error {
	const passwd, group, shadow = "/etc/passwd", "/etc/group", "/etc/shadow"
	var old accounts
	for path, content := range map[string]*[]byte{passwd: &old.passwd, group: &old.group, shadow: &old.shadow} {
		var err error
		if *content, err = os.ReadFile(filepath.Join(b.root, path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	now, got := old.with(want)
	b.account = got
	for _, f := range []struct {
		path     string
		old, new []byte
		mode     uint32
	}{
		{passwd, old.passwd, now.passwd, 0o644},
		{group, old.group, now.group, 0o644},
		{shadow, old.shadow, now.shadow, 0o640},
	} {
		if bytes.Equal(f.old, f.new) {
			continue
		}
		gid, mode := ownerOf(filepath.Join(b.root, f.path), f.mode)
		if err := replaceFile(b.root, f.path, f.new, 0o755, mode, uint32(os.Getuid()), gid); err != nil {
			return err
		}
	}
	return nil
}

// ownerOf returns the group and mode of a file, or root's and def.
func ownerOf(path string, def uint32) (gid, mode uint32) {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return 0, def
	}
	return st.Gid, st.Mode & 0o777
}

// makeHome makes the home if it is missing, and gives it to the harness if it
// is in the container's own layer.
func (b *box) makeHome() error {
	home := b.account.Home
	if err := b.makeDirs(filepath.Dir(home)); err != nil {
		return err
	}
	if err := b.openWay(home); err != nil {
		return err
	}
	dir, err := b.open(home, 0o700)
	if err != nil {
		return fmt.Errorf("home: %w", err)
	}
	defer unix.Close(dir)
	if !b.mounts.ownLayer(home) {
		return nil
	}
	return b.give(dir)
}

func (b *box) makeDirs(path string) error {
	dir, err := openDir(b.root, path, 0o755)
	if err != nil {
		return err
	}
	return unix.Close(dir)
}

// open is openDir for directories that may be the harness's: cage-init has no
// capability to enter what is closed to others.
func (b *box) open(path string, mode uint32) (int, error) {
	fd, err := openDir(b.root, path, mode)
	if !errors.Is(err, unix.EACCES) {
		return fd, err
	}
	err = asUser(b.harnessIDs, func() error {
		var err error
		fd, err = openDir(b.root, path, mode)
		return err
	})
	return fd, err
}

// give makes an open directory the harness's.
func (b *box) give(dir int) error {
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		return err
	}
	if st.Uid == b.harnessIDs.uid && st.Gid == b.harnessIDs.gid {
		return nil
	}
	return unix.Fchownat(dir, "", int(b.harnessIDs.uid), int(b.harnessIDs.gid), unix.AT_EMPTY_PATH)
}

// openWay lets the harness walk to path. The engine makes the directories
// above a mount point as root's: below the home they become the harness's,
// elsewhere they become passable. What is on a mount stays as it is.
func (b *box) openWay(path string) error {
	for _, dir := range parents(path) {
		if !b.mounts.ownLayer(dir) {
			return nil
		}
		fd, err := b.open(dir, 0o755)
		if err != nil {
			return err
		}
		if within(dir, b.account.Home) {
			err = b.give(fd)
		} else {
			err = letPass(fd)
		}
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("the way to %s, at %s: %w", path, dir, err)
		}
	}
	return nil
}

// letPass lets everybody through an open directory of root's.
func letPass(dir int) error {
	const search = 0o111
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		return err
	}
	if st.Mode&search == search || int(st.Uid) != os.Getuid() {
		return nil
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", dir), st.Mode&0o777|search)
}

// parents returns the directories above path, the highest first, without /.
func parents(path string) []string {
	var out []string
	for dir := filepath.Dir(filepath.Clean(path)); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out
}

// makeWorkDir makes the path under which the caller named the project lead to
// it, where that is not its real path.
func (b *box) makeWorkDir() error {
	p := b.run.Plan.Project
	work := filepath.Clean(p.WorkDir)
	if p.WorkDir == "" || within(work, filepath.Clean(p.Dir)) || !b.mounts.ownLayer(filepath.Dir(work)) {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(b.root, work)); err == nil {
		return nil
	}
	parent, err := b.open(filepath.Dir(work), 0o755)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	if err := unix.Symlinkat(p.Dir, parent, filepath.Base(work)); err != nil && err != unix.EEXIST {
		return fmt.Errorf("%s: %w", work, err)
	}
	return b.openWay(work)
}
