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

// ids are a user and a group.
type ids struct{ uid, gid uint32 }

// idMaps are the maps of a user namespace.
type idMaps struct{ uids, gids idMap }

// boxMaps returns the maps of the box's own user namespace: its ids within, and
// those that they are outside of it.
func boxMaps() (m idMaps, err error) {
	if m.uids, err = readIDMap("/proc/self/uid_map"); err != nil {
		return m, err
	}
	m.gids, err = readIDMap("/proc/self/gid_map")
	return m, err
}

func readIDMap(path string) (idMap, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseIDMap(text)
}

// idMap is a map of ids: ContainerID are those within.
type idMap []syscall.SysProcIDMap

// parseIDMap reads a map of /proc.
func parseIDMap(text []byte) (idMap, error) {
	var ids idMap
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var inner, outer, size int
		if _, err := fmt.Sscan(lines.Text(), &inner, &outer, &size); err != nil {
			return nil, fmt.Errorf("id map %q: %w", lines.Text(), err)
		}
		ids = append(ids, syscall.SysProcIDMap{ContainerID: inner, HostID: outer, Size: size})
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("the box's user namespace has no ids")
	}
	return ids, nil
}

// inside returns what an outer id is within.
func (m idMap) inside(outer uint32) (inner uint32, ok bool) {
	for _, r := range m {
		if at := int(outer) - r.HostID; at >= 0 && at < r.Size {
			return uint32(r.ContainerID + at), true
		}
	}
	return 0, false
}

// full reports whether every id is mapped.
func (m idMap) full() bool { return len(m) == 1 && m[0].Size == fullRange }

// seenAs returns the map of a namespace in m's in which the id actual of m is
// seen as view, and every other id as itself. The id that view was, and view's
// own place where it is not actual's, are in that namespace nobody's.
func (m idMap) seenAs(view, actual uint32) idMap {
	var out idMap
	if view == actual {
		for _, r := range m {
			out = out.identity(r.ContainerID, r.ContainerID+r.Size)
		}
		return out
	}
	for _, r := range m {
		next, end := r.ContainerID, r.ContainerID+r.Size
		for _, left := range []int{int(min(view, actual)), int(max(view, actual))} {
			if left < next || left >= end {
				continue
			}
			out = out.identity(next, left)
			next = left + 1
		}
		out = out.identity(next, end)
	}
	return append(out, syscall.SysProcIDMap{ContainerID: int(view), HostID: int(actual), Size: 1})
}

// identity appends the ids from begin up to end as themselves.
func (m idMap) identity(begin, end int) idMap {
	if begin >= end {
		return m
	}
	return append(m, syscall.SysProcIDMap{ContainerID: begin, HostID: begin, Size: end - begin})
}

// setgroups makes gid the calling thread's only supplementary group.
func setgroups(gid uint32) error { return unix.Setgroups([]int{int(gid)}) }

// asUser calls do with the file access of an ordinary user: what it makes is
// that user's, and what the user may not touch, it does not touch.
func asUser(user ids, do func() error) error {
	done := make(chan error, 1)
	go func() {
		// The thread is not unlocked, so that it ends with the goroutine and
		// nothing else runs on it as that user.
		runtime.LockOSThread()
		unix.SetfsgidRetGid(int(user.gid))
		unix.SetfsuidRetUid(int(user.uid))
		// The calls do not fail: the old id is what they return.
		if now, _ := unix.SetfsuidRetUid(int(user.uid)); now != int(user.uid) {
			done <- fmt.Errorf("access as uid %d: %w", user.uid, unix.EPERM)
			return
		}
		if now, _ := unix.SetfsgidRetGid(int(user.gid)); now != int(user.gid) {
			done <- fmt.Errorf("access as gid %d: %w", user.gid, unix.EPERM)
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
