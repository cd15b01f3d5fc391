package doctor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func (realMachine) Kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

func (realMachine) MakeUserNamespace() error {
	return withUserNamespace(func(int) error { return nil })
}

// withUserNamespace calls do with the descriptor of a user namespace in which
// the caller is another user.
func withUserNamespace(do func(fd int) error) error {
	// It lives until its input ends.
	holder := exec.Command("cat")
	holder.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getgid(), Size: 1}},
	}
	input, err := holder.StdinPipe()
	if err != nil {
		return err
	}
	if err := holder.Start(); err != nil {
		return err
	}
	defer func() {
		input.Close()
		_ = holder.Wait() // how it ends is of no matter
	}()
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", holder.Process.Pid))
	if err != nil {
		return err
	}
	defer namespace.Close()
	return do(int(namespace.Fd()))
}

// IdmapMount makes a detached mount, which is gone when its descriptor is.
func (realMachine) IdmapMount(dir string) error {
	tree, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return explainMount(err)
	}
	defer unix.Close(tree)
	return withUserNamespace(func(fd int) error {
		return explainMount(unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{
			Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(fd),
		}))
	})
}

func explainMount(err error) error {
	switch {
	case errors.Is(err, unix.EINVAL):
		return errors.New("its file system cannot do that")
	case errors.Is(err, unix.EPERM):
		return errors.New("this process may not mount")
	}
	return err
}
