package boxinit

import (
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

// kernelFS are file systems in which no socket can be.
var kernelFS = map[string]bool{
	"proc": true, "sysfs": true, "cgroup": true, "cgroup2": true, "devpts": true, "mqueue": true,
}

// engineOwn are where an engine mounts empty memory into each box. No launcher
// lets anything else be mounted there.
var engineOwn = map[string]bool{
	"/dev": true, "/dev/shm": true, "/sys/fs/cgroup": true, "/sys/firmware": true,
	"/proc/acpi": true, "/proc/scsi": true, needs.RunDir: true,
}

// refuseSocket makes sure that nothing of the host's container engine has been
// mounted into the box: whoever can talk to it is root on the host.
func (b *box) refuseSocket() error {
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	if found := engineSocket(b.root, mounts); found != "" {
		return exitstatus.Faultf(exitstatus.EngineStartFailed, "FATAL: %s is mounted from the host", found)
	}
	b.mounts = mounts
	return nil
}

// engineSocket returns the path in the box of an engine's socket, or "". A
// mount that is itself a socket is one under whatever name.
func engineSocket(root string, mounts mountTable) string {
	named, unnamed := ends(needs.EngineSockets())
	for _, m := range mounts {
		if m.Point == "/" || kernelFS[m.FSType] {
			continue
		}
		point := path.Join(root, m.Point)
		mode := modeOf(point)
		if mode == unix.S_IFSOCK {
			return m.Point
		}
		if mode != unix.S_IFDIR || m.FSType == "tmpfs" && engineOwn[m.Point] {
			continue
		}
		found := findSocket(point, named)
		for dir, tails := range unnamed {
			if found == "" && (m.Root == "/" || path.Base(m.Root) == dir) {
				found = findSocket(point, tails)
			}
		}
		if found != "" {
			return path.Join("/", strings.TrimPrefix(found, path.Clean(root)))
		}
	}
	return ""
}

// findSocket returns the first socket below dir at one of the tails. It looks
// at each name once, however many tails begin with it: a box waits for it.
func findSocket(dir string, tails [][]string) string {
	next := map[string][][]string{}
	for _, t := range tails {
		next[t[0]] = append(next[t[0]], t[1:])
	}
	for name, rests := range next {
		names := []string{name}
		if name == "*" {
			names = namesIn(dir)
		}
		for _, n := range names {
			p := dir + "/" + n
			switch modeOf(p) {
			case unix.S_IFSOCK:
				if slices.ContainsFunc(rests, func(t []string) bool { return len(t) == 0 }) {
					return p
				}
			case unix.S_IFDIR:
				longer := slices.DeleteFunc(slices.Clone(rests), func(t []string) bool { return len(t) == 0 })
				if found := findSocket(p, longer); found != "" {
					return found
				}
			}
		}
	}
	return ""
}

// ends returns every tail of the paths. Those that begin with a wildcard come
// apart, by the directory they are found in: they are looked for only where a
// mount can be that directory, which spares the search of every directory of a
// large project.
func ends(paths []string) (named [][]string, unnamed map[string][][]string) {
	unnamed = map[string][][]string{}
	for _, p := range paths {
		names := strings.Split(strings.Trim(p, "/"), "/")
		for i := range names {
			if names[i] == "*" {
				unnamed[names[i-1]] = append(unnamed[names[i-1]], names[i:])
			} else {
				named = append(named, names[i:])
			}
		}
	}
	return named, unnamed
}

func namesIn(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	return names
}

// modeOf returns the type of file that p leads to, 0 if to none.
func modeOf(p string) uint32 {
	var st unix.Stat_t
	if unix.Stat(p, &st) != nil {
		return 0
	}
	return st.Mode & unix.S_IFMT
}
