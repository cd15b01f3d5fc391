package buildkit

import (
	"context"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"time"

	"github.com/tonistiigi/fsutil"
	fstypes "github.com/tonistiigi/fsutil/types"

	"github.com/agent-cage/agent-cage/libcage/image"
)

// contextFS sends an fs.FS to BuildKit. Owner, times and umask of this machine
// stay behind: the same files give the same image everywhere.
type contextFS struct {
	files fs.FS
}

// modTime is the time of every file: the earliest that archive formats inside
// an image can express.
var modTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// Walk calls fn for everything below target, parents first.
func (c contextFS) Walk(ctx context.Context, target string, fn fs.WalkDirFunc) error {
	root := path.Clean("./" + filepath.ToSlash(target))
	return fs.WalkDir(c.files, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if name == "." {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		stat := &fstypes.Stat{
			Path:    name,
			Mode:    uint32(image.Mode(info)),
			ModTime: modTime.UnixNano(),
		}
		switch {
		case info.Mode().Type() == fs.ModeSymlink:
			// Where it leads is the build's own to find out.
			if stat.Linkname, err = fs.ReadLink(c.files, name); err != nil {
				return err
			}
		case !info.IsDir():
			stat.Size = info.Size()
		}
		return fn(name, &fsutil.DirEntryInfo{Stat: stat}, nil)
	})
}

// Open opens a file by its path below the root.
func (c contextFS) Open(name string) (io.ReadCloser, error) {
	return c.files.Open(path.Clean(filepath.ToSlash(name)))
}
