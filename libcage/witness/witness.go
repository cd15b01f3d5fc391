// Package witness tells whether a directory that two sides see is one and the
// same: the launcher notes what it sees of it, and the box compares. An engine
// on another machine, or in one that does not share the path, would mount a
// directory of the same name that is somebody else's.
//
// Nothing is written into a directory of the caller's to find out. It is known
// by the time of its last change; one that changes in between, by any of its
// entries that did not. Inode numbers count for nothing: file sharing with a
// virtual machine makes up its own. A directory that is the launcher's own gets
// a mark, which a copy on another machine does not have.
package witness

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// maxEntries bounds how many entries of a directory are noted.
const maxEntries = 64

// Witness is what is noted of a directory. It holds no name of a file.
type Witness struct {
	// Dir is the directory's path on the launcher's side, At that in the box;
	// empty if it is the same.
	Dir string `json:"dir"`
	At  string `json:"at,omitempty"`
	// Mark is what the launcher left in the directory; empty if it left nothing.
	// Then the rest counts.
	Mark string `json:"mark,omitempty"`
	// Modified is the time of its last change, in nanoseconds since 1970.
	Modified int64 `json:"modified,omitempty"`
	// Entries are digests of name, kind, size and time of some entries.
	Entries []string `json:"entries,omitempty"`
}

// MismatchError is a directory that is not the one that was noted.
type MismatchError struct{ Dir string }

func (e *MismatchError) Error() string {
	return fmt.Sprintf("the engine's %s is not this machine's: share the directory with the engine's machine, or use an engine on this one", e.Dir)
}

// Place is where the box has the directory.
func (w Witness) Place() string { return cmp.Or(w.At, w.Dir) }

// Take notes a directory.
func Take(dir string) (Witness, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return Witness{}, err
	}
	entries, err := digests(dir, maxEntries)
	return Witness{Dir: dir, Modified: info.ModTime().UnixNano(), Entries: entries}, err
}

// Check compares a directory, seen at path, with what was noted. The error is
// a *MismatchError, or that of a directory that cannot be read.
func (w Witness) Check(path string) error {
	if w.Mark != "" {
		return w.marked(path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if sameTime(w.Modified, info.ModTime().UnixNano()) {
		return nil
	}
	// All of it is looked at: the order of a directory is nobody's promise.
	seen, err := digests(path, -1)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(w.Entries, func(e string) bool { return slices.Contains(seen, e) }) {
		return nil
	}
	return &MismatchError{w.Dir}
}

// sameTime compares two times. File sharing may cut one of them to seconds.
func sameTime(a, b int64) bool {
	const second = int64(time.Second)
	return a == b || a/second == b/second && (a%second == 0 || b%second == 0)
}

// digests returns one digest for each of the first n entries of a directory,
// or of all for a negative n.
func digests(dir string, n int) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(n)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // it went away in the meantime
		}
		size := info.Size()
		if info.IsDir() {
			size = 0 // a file system's own business
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %v %d %d", e.Name(), info.Mode().Type(), size, info.ModTime().Unix()))
		all = append(all, hex.EncodeToString(sum[:8]))
	}
	return all, nil
}
