package boxinit

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
)

// seal makes read-only what is the box's own where its root is the caller on
// the host, as with a rootless engine: there the harness owns what root owns,
// cage-init itself included, and only mounts are out of its reach. What an
// ordinary user may write in any box stays writable.
func (b *box) seal() error {
	if !b.ownsRoots() {
		return nil
	}
	for _, dir := range []string{"/tmp", "/var/tmp", b.account.Home} {
		if !b.mounts.ownLayer(dir) {
			continue
		}
		if err := b.makeMount(dir); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("a mount of its own for %s: %w", dir, err)
		}
	}
	for _, m := range b.mounts {
		if m.Point != needs.RunDir && b.boxOwn(m.Point) {
			if err := makeReadOnly(m.Point); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgo closes what cage-init itself wrote to up to now, and gives up what it
// mounted with.
func (b *box) forgo() error {
	if !b.run.Plan.User.Mapped {
		kept := b.keptBounding()
		return forgo(kept, kept...)
	}
	if b.ownsRoots() {
		if err := makeReadOnly(needs.RunDir); err != nil {
			return err
		}
	}
	if err := forgo(b.keptBounding(), unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP); err != nil {
		return fmt.Errorf("dropping SYS_ADMIN: %w", err)
	}
	return nil
}

// ownsRoots reports whether the harness owns what the box's root does.
func (b *box) ownsRoots() bool { return b.harnessIDs.uid == 0 || b.harnessIDs.gid == 0 }

func makeReadOnly(point string) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, point, unix.AT_SYMLINK_NOFOLLOW, &attr); err != nil {
		return fmt.Errorf("making %s read-only: %w", point, err)
	}
	return nil
}

// makeMount makes a directory a mount of its own, with what is mounted below
// it. The mounts that are so covered are taken away: they would still be in the
// table that programs read.
func (b *box) makeMount(dir string) error {
	tree, err := unix.OpenTree(unix.AT_FDCWD, dir,
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	for _, m := range slices.Backward(b.mounts) {
		if m.Point != dir && within(m.Point, dir) {
			if err := unix.Unmount(m.Point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
				return fmt.Errorf("umount %s: %w", m.Point, err)
			}
		}
	}
	return unix.MoveMount(tree, "", unix.AT_FDCWD, dir, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// boxOwn reports whether a mount is neither the caller's nor one in which the
// kernel or the engine looks after what may be written.
func (b *box) boxOwn(point string) bool {
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		if within(point, dir) {
			return false
		}
	}
	for _, m := range b.run.Plan.Mounts {
		if within(point, m.Target) {
			return false
		}
	}
	return true
}
