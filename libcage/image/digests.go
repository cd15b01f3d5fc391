package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"

	"time"

	"github.com/agent-cage/agent-cage/libcage/atomicfile"
)

// digestCache remembers the SHA-256 of files that are too big to hash at every
// launch. An entry counts only while the file's identity, size and times are
// those it had then. A cache that cannot be read is an empty one, one that
// cannot be written is written next time.
type digestCache struct {
	path    string
	now     func() time.Time
	entries map[string]digestEntry
	changed bool
}

// fileID is what the kernel says of a file without reading it.
type fileID struct {
	Dev   uint64 `json:"dev"`
	Inode uint64 `json:"inode"`
	Size  int64  `json:"size"`
	// MTime and CTime are in nanoseconds since 1970.
	MTime int64 `json:"mtime"`
	CTime int64 `json:"ctime"`
}

type digestEntry struct {
	fileID
	SHA256 string `json:"sha256"`
}

// settled is how old a change must be for its time to identify it: a second
// change within one tick of the file system's clock leaves no trace.
const settled = 2 * time.Second

func openDigestCache(path string, now func() time.Time) *digestCache {
	c := &digestCache{path: path, now: now, entries: map[string]digestEntry{}}
	text, err := os.ReadFile(path)
	if err != nil {
		return c
	}
	var entries map[string]digestEntry
	if json.Unmarshal(text, &entries) == nil && entries != nil {
		c.entries = entries
	}
	return c
}

// digest returns the SHA-256 of the file at path, in hex.
func (c *digestCache) digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	before, err := identify(f)
	if err != nil {
		return "", err
	}
	if entry, ok := c.entries[path]; ok && entry.fileID == before && len(entry.SHA256) == sha256.Size*2 {
		return entry.SHA256, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	sum := hex.EncodeToString(h.Sum(nil))
	after, err := identify(f)
	if err == nil && after == before && c.now().Sub(time.Unix(0, before.CTime)) > settled {
		c.entries[path] = digestEntry{fileID: before, SHA256: sum}
		c.changed = true
	}
	return sum, nil
}

// save writes what was learnt, without the files that are gone.
func (c *digestCache) save() error {
	if !c.changed {
		return nil
	}
	for path := range c.entries {
		if _, err := os.Lstat(path); err != nil {
			delete(c.entries, path)
		}
	}
	text, err := json.Marshal(c.entries)
	if err != nil {
		return err
	}
	c.changed = false
	return atomicfile.Write(c.path, text)
}
