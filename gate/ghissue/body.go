package ghissue

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/zone"
)

// maxBody bounds a body, in bytes. GitHub's own limit is 65,536 characters.
const maxBody = 256 << 10

// readBody returns the text of a regular file of the zone, named as seen from
// the directory dir. What the cage can write decides nothing about which file
// that is: below the zone's root no symlink is followed, and a file with other
// names, which may lie outside, is refused.
func readBody(z zone.Zone, dir, name string) (string, error) {
	p := name
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	p = filepath.Clean(p)
	refuse := func(why string) (string, error) { return "", fmt.Errorf("--body-file %s: %s", name, why) }
	root, ok := outermost(z, p)
	if !ok || p == root.path {
		return refuse("not in the zone; write the text to a file in the project or in /tmp")
	}
	rest := p[len(root.path)+1:]
	if root.path == "/" {
		rest = p[1:]
	}
	for _, hidden := range append([]string{z.CacheDir(), z.ConfigDir()}, z.Mask...) {
		if zone.Within(p, hidden) || zone.Within(filepath.Join(root.real, rest), hidden) {
			return refuse("in a place that holds more than an agent's own files; write the text to a file in the project or in /tmp")
		}
	}
	f, err := openBelow(root.real, rest)
	switch {
	case errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR):
		return refuse("a symlink, or below one; name the file itself")
	case errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EOPNOTSUPP):
		return refuse("not a regular file")
	case err != nil:
		return "", fmt.Errorf("--body-file %s: %w", name, err)
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", fmt.Errorf("--body-file %s: %w", name, err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return refuse("not a regular file")
	case st.Nlink != 1:
		return refuse("it has other names (hard links)")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBody+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("--body-file %s: %w", name, err)
	case len(data) > maxBody:
		return refuse(fmt.Sprintf("larger than %d bytes", maxBody))
	case !utf8.Valid(data) || strings.ContainsRune(string(data), 0):
		return refuse("not text in UTF-8")
	case strings.TrimSpace(string(data)) == "":
		return refuse("empty")
	}
	return string(data), nil
}

// place is a zone root as the settings name it, or as its symlinks resolve,
// and where it really is.
type place struct{ path, real string }

// outermost returns the zone root with the shortest path of those that hold p.
// What is between two of them can be written by the cage.
func outermost(z zone.Zone, p string) (best place, found bool) {
	for _, r := range z.Roots {
		real, err := filepath.EvalSymlinks(r.Path)
		if err != nil {
			continue
		}
		for _, name := range []string{r.Path, real} {
			if zone.Within(p, name) && (!found || len(name) < len(best.path)) {
				best, found = place{name, real}, true
			}
		}
	}
	return best, found
}

// openBelow opens a file below a directory without following a symlink and
// without waiting for anybody.
func openBelow(dir, rest string) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOCTTY | unix.O_NONBLOCK
	fd, err := unix.Open(dir, flags|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		more := 0
		if i < len(parts)-1 {
			more = unix.O_DIRECTORY
		}
		next, err := unix.Openat(fd, part, flags|unix.O_NOFOLLOW|more, 0)
		_ = unix.Close(fd)
		if err != nil {
			return nil, err
		}
		fd = next
	}
	return os.NewFile(uintptr(fd), rest), nil
}
