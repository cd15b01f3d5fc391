package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Bounds of a build context, so that naming a Dockerfile by mistake in a large
// directory is noticed and not waited for.
const (
	maxContextFiles = 1000
	maxContextBytes = 64 << 20
)

// Dockerfile is one that the caller named.
type Dockerfile struct {
	// Path is the real path, Name that within Context.
	Path, Name string
	// Context is the Dockerfile's directory. Links do not lead out of it.
	Context fs.FS
	// ID tells Dockerfiles apart by where they are.
	ID string
}

// FindDockerfile opens the Dockerfile at path. An error is a *RefusedError.
func FindDockerfile(path string) (*Dockerfile, error) {
	refuse := func(reason string) (*Dockerfile, error) {
		return nil, &RefusedError{"Dockerfile", path, reason}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return refuse("the current directory no longer exists")
	}
	file, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return refuse(cause(err))
	}
	info, err := os.Stat(file)
	if err != nil {
		return refuse(cause(err))
	}
	if !info.Mode().IsRegular() {
		return refuse("it is not a regular file")
	}
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return refuse(cause(err))
	}
	if reason := unfit(root.FS()); reason != "" {
		return refuse(reason)
	}
	sum := sha256.Sum256([]byte(file))
	return &Dockerfile{Path: file, Name: filepath.Base(file), Context: root.FS(), ID: hex.EncodeToString(sum[:5])}, nil
}

// unfit says why a directory is no build context.
func unfit(context fs.FS) (reason string) {
	var files int
	var bytes int64
	err := fs.WalkDir(context, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch info.Mode().Type() {
		case 0, fs.ModeDir, fs.ModeSymlink:
		default:
			reason = fmt.Sprintf("its directory has %q, which is no file that a build can have: put it into one of its own", path)
			return fs.SkipAll
		}
		files++
		if info.Mode().IsRegular() {
			bytes += info.Size()
		}
		if files > maxContextFiles || bytes > maxContextBytes {
			reason = fmt.Sprintf("its directory has more than %d files or %d MiB: put it into one of its own", maxContextFiles, maxContextBytes>>20)
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return "its directory cannot be read: " + cause(err)
	}
	return reason
}
