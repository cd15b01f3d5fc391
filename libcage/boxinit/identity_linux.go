package boxinit

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// fullRange is the size of the map of a namespace that maps every id.
const fullRange = 1<<32 - 1

// identityMaps returns maps under which every id that exists here is itself.
func identityMaps() (uids, gids []syscall.SysProcIDMap, err error) {
	if uids, err = identityMap("/proc/self/uid_map"); err != nil {
		return nil, nil, err
	}
	gids, err = identityMap("/proc/self/gid_map")
	return uids, gids, err
}

func identityMap(path string) ([]syscall.SysProcIDMap, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseIDMap(text)
}

// parseIDMap reads a map of /proc and returns the identity of its inner ids.
func parseIDMap(text []byte) ([]syscall.SysProcIDMap, error) {
	var ids []syscall.SysProcIDMap
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var inner, outer, size int
		if _, err := fmt.Sscan(lines.Text(), &inner, &outer, &size); err != nil {
			return nil, fmt.Errorf("id map %q: %w", lines.Text(), err)
		}
		ids = append(ids, syscall.SysProcIDMap{ContainerID: inner, HostID: inner, Size: size})
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("the box's user namespace has no ids")
	}
	return ids, nil
}

// setgroups makes gid the calling thread's only supplementary group.
func setgroups(gid uint32) error { return unix.Setgroups([]int{int(gid)}) }

// asUser calls do with the file access of an ordinary user: what it makes is
// that user's, and what the user may not touch, it does not touch.
func asUser(uid, gid uint32, do func() error) error {
	done := make(chan error, 1)
	go func() {
		// The thread is not unlocked, so that it ends with the goroutine and
		// nothing else runs on it as that user.
		runtime.LockOSThread()
		unix.SetfsgidRetGid(int(gid))
		unix.SetfsuidRetUid(int(uid))
		// The calls do not fail: the old id is what they return.
		if now, _ := unix.SetfsuidRetUid(int(uid)); now != int(uid) {
			done <- fmt.Errorf("access as uid %d: %w", uid, unix.EPERM)
			return
		}
		if now, _ := unix.SetfsgidRetGid(int(gid)); now != int(gid) {
			done <- fmt.Errorf("access as gid %d: %w", gid, unix.EPERM)
			return
		}
		done <- do()
	}()
	return <-done
}

// giveStreams makes the standard streams the harness's, so that it can open
// them again by name: /dev/stdout, /dev/tty.
func giveStreams(uid uint32) error {
	var null unix.Stat_t
	if err := unix.Stat("/dev/null", &null); err != nil {
		return err
	}
	for fd := 0; fd <= 2; fd++ {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return fmt.Errorf("descriptor %d: %w", fd, err)
		}
		if st.Uid == uid || st.Rdev == null.Rdev {
			continue
		}
		if err := unix.Fchown(fd, int(uid), -1); err != nil && err != unix.EROFS {
			return fmt.Errorf("owner of descriptor %d: %w", fd, err)
		}
	}
	return nil
}
