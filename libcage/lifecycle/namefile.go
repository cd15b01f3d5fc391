package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// NameFile is a file that tells a supervisor which name a box has. It exists
// from when the box can be addressed until shortly before it is removed.
//
// A launcher that is killed leaves it behind; with the path among the box's
// labels (LabelNameFile), the reaper removes it.
type NameFile struct {
	// Path is absolute.
	Path string
	// Box is the name, and with a newline the content.
	Box string
}

// Publish writes the file with mode 0600, all of it at once. What was there
// before is replaced, unless it is no regular file. An error is a reason for a
// warning: a box is of use without it.
func (f NameFile) Publish() error {
	if info, err := os.Lstat(f.Path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("name file %s: it is there and no regular file: name another one", f.Path)
	}
	if err := f.publish(); err != nil {
		os.Remove(f.temporary())
		return fmt.Errorf("name file: %w", err)
	}
	return nil
}

func (f NameFile) publish() error {
	// One that is there was left by a launcher of a box of the same name.
	if err := os.Remove(f.temporary()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(f.temporary(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(f.content())
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(f.temporary(), f.Path)
}

// Remove removes the file, and what a Publish that was killed left beside it.
// A file that holds another box's name, or that is not a regular file of the
// caller's, is kept. One that is gone is no error.
func (f NameFile) Remove() error {
	return errors.Join(f.removeOurs(f.temporary(), func(string) bool { return true }),
		f.removeOurs(f.Path, func(content string) bool { return content == f.content() }))
}

func (f NameFile) removeOurs(path string, ours func(content string) bool) error {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("name file: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || !isCallers(info) {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(file, int64(len(f.content()))+1))
	if err != nil {
		return fmt.Errorf("name file: %w", err)
	}
	if !ours(string(content)) {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("name file: %w", err)
	}
	return nil
}

func isCallers(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

func (f NameFile) content() string { return f.Box + "\n" }

// temporary is a name that a reaper can tell from the box's, and no longer than
// a directory takes, however long those are.
func (f NameFile) temporary() string {
	sum := sha256.Sum256([]byte(filepath.Base(f.Path) + "\x00" + f.Box))
	return filepath.Join(filepath.Dir(f.Path), ".name-"+hex.EncodeToString(sum[:8])+".new")
}
