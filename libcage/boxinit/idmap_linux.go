package boxinit

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/plan"
)

// displacedID is who the files of the harness's own id on disk are shown as,
// where another id takes its place: nobody in any image.
const displacedID = 0x7ffffff0

// idmapMounts shows the caller's files as the harness's in the mounts that the
// plan names. Afterwards cage-init can mount nothing any more.
func (b *box) idmapMounts() error {
	namespaces := map[plan.Owner]int{}
	for _, m := range b.run.Plan.Mounts {
		if m.Idmap == nil {
			continue
		}
		ns, made := namespaces[*m.Idmap]
		if !made {
			var err error
			if ns, err = b.mappedNamespace(*m.Idmap); err != nil {
				return err
			}
			defer unix.Close(ns)
			namespaces[*m.Idmap] = ns
		}
		if err := idmap(m.Target, ns); err != nil {
			return b.idmapFault(m, err)
		}
	}
	if len(namespaces) == 0 {
		return nil
	}
	if err := forgo(b.keptBounding(), unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP); err != nil {
		return fmt.Errorf("dropping SYS_ADMIN: %w", err)
	}
	return nil
}

// idmap replaces the mount at target, and what is mounted below it, by a copy
// that shows its files through the user namespace ns.
func idmap(target string, ns int) error {
	tree, err := unix.OpenTree(unix.AT_FDCWD, target,
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return fmt.Errorf("open_tree: %w", err)
	}
	defer unix.Close(tree)
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(ns)}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("mount_setattr: %w", err)
	}
	if err := unix.Unmount(target, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
		return fmt.Errorf("umount: %w", err)
	}
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("move_mount: %w", err)
	}
	return nil
}

// mappedNamespace returns a descriptor of a user namespace that maps an owner
// on disk to the harness.
func (b *box) mappedNamespace(disk plan.Owner) (int, error) {
	if err := needsFullRange(); err != nil {
		return -1, err
	}
	pid, ended, err := b.reap.start(self, []string{holdName}, &syscall.ProcAttr{
		Dir: "/",
		Env: []string{},
		Sys: &syscall.SysProcAttr{
			Cloneflags:                 unix.CLONE_NEWUSER,
			UidMappings:                diskMap(disk.UID, b.harnessIDs.uid),
			GidMappings:                diskMap(disk.GID, b.harnessIDs.gid),
			GidMappingsEnableSetgroups: true,
		},
	})
	if err != nil {
		return -1, fmt.Errorf("a user namespace for idmapped mounts: %w", err)
	}
	defer func() {
		unix.Kill(pid, unix.SIGKILL)
		<-ended
	}()
	return unix.Open(fmt.Sprintf("/proc/%d/ns/user", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

// hold is the program of a process that is there for its namespaces only.
func hold() int {
	for {
		unix.Pause()
	}
}

// needsFullRange: a kernel lets only the system's first user namespace map the
// mounts of its file systems.
func needsFullRange() error {
	own, err := boxMaps()
	if err != nil {
		return err
	}
	if own.uids.full() && own.gids.full() {
		return nil
	}
	return exitstatus.Faultf(exitstatus.EngineStartFailed,
		"the engine runs boxes in a user namespace, where mounts cannot be idmapped: use --user UID:GID, or an engine without userns-remap")
}

// diskMap maps the id on disk to the id in the box and what that displaces to
// displacedID; every other id stays. In such a map the inner ids are the ones
// on disk and the outer ones those that the box sees.
func diskMap(disk, box uint32) []syscall.SysProcIDMap {
	if disk == box {
		return []syscall.SysProcIDMap{{Size: fullRange}}
	}
	special := []syscall.SysProcIDMap{
		{ContainerID: int(disk), HostID: int(box), Size: 1},
		{ContainerID: int(box), HostID: displacedID, Size: 1},
	}
	if disk > box {
		special[0], special[1] = special[1], special[0]
	}
	var ids []syscall.SysProcIDMap
	next := 0
	identity := func(end int) {
		if end > next {
			ids = append(ids, syscall.SysProcIDMap{ContainerID: next, HostID: next, Size: end - next})
		}
	}
	for _, s := range special {
		identity(s.ContainerID)
		ids = append(ids, s)
		next = s.ContainerID + 1
	}
	// An owner on disk of that very id is shown as nobody's.
	identity(displacedID)
	next = displacedID + 1
	identity(fullRange)
	return ids
}

// idmapFault names what cannot be idmapped: the kernel, or a file system.
func (b *box) idmapFault(m plan.Mount, err error) error {
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("idmapped mount of %s: %w", m.Target, err)
	}
	var fs []string
	for _, c := range b.mounts {
		if within(c.Point, m.Target) {
			fs = append(fs, c.FSType)
		}
	}
	if len(fs) == 0 {
		if over, ok := b.mounts.over(m.Target); ok {
			fs = append(fs, over.FSType)
		}
	}
	return exitstatus.Faultf(exitstatus.EngineStartFailed,
		"the files of user %d cannot be shown as another user's in %s: kernel %s, file system %s (%w); %s",
		m.Idmap.UID, m.Target, kernelRelease(), strings.Join(slices.Compact(slices.Sorted(slices.Values(fs))), ", "), err, b.withoutIdmap(m))
}

// withoutIdmap is what a caller can do where a mount cannot be idmapped.
func (b *box) withoutIdmap(m plan.Mount) string {
	if u := b.run.Plan.User; u.HostUID != m.Idmap.UID {
		return fmt.Sprintf("give %s to the user whom --user names: chown -R %d:%d", m.Source, u.HostUID, u.HostGID)
	}
	return "run as an ordinary user, or give --user UID:GID"
}

func kernelRelease() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return string(text[:max(len(text)-1, 0)])
}
