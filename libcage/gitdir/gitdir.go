// Package gitdir finds the git directory of a project that has it elsewhere: a
// linked worktree or a submodule.
//
// The project's own word is not enough. A .git file is a path that whoever
// filled the project could choose, so the directory is given to the box only
// if it is a git directory that points back.
package gitdir

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxPointer bounds the files that hold a path, in bytes.
const maxPointer = 16 << 10

// UnprovenError is a .git file that leads to what is not this project's git
// directory.
type UnprovenError struct{ Target, Reason string }

func (e *UnprovenError) Error() string {
	return fmt.Sprintf("the project's .git file leads to %q, which the box does not get: %s", e.Target, e.Reason)
}

// Outside returns the real path of the directory outside of the project that
// git needs there: that of the whole repository for a linked worktree, its own
// for a submodule. It is empty for a project that needs none. An error that is
// not a file system's is an *UnprovenError.
func Outside(project string) (string, error) {
	file := filepath.Join(project, ".git")
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return "", ignoreMissing(err)
	}
	target, err := pointer(file, "gitdir: ", project)
	if err != nil {
		return "", err
	}
	gitDir, err := filepath.EvalSymlinks(target)
	if err != nil {
		return "", &UnprovenError{target, "it does not exist"}
	}
	if strings.HasPrefix(gitDir, project+"/") {
		return "", nil
	}
	if filepath.Base(filepath.Dir(gitDir)) == "worktrees" {
		return worktree(gitDir, file)
	}
	return submodule(gitDir, project)
}

// Above returns the top of the repository that a project lies in without being
// its top; empty if there is none.
func Above(project string) string {
	if _, err := os.Lstat(filepath.Join(project, ".git")); err == nil {
		return ""
	}
	for dir := filepath.Dir(project); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// worktree returns the directory of the repository that a linked worktree
// belongs to.
func worktree(gitDir, file string) (string, error) {
	back, err := pointer(filepath.Join(gitDir, "gitdir"), "", gitDir)
	if err != nil || !sameFile(back, file) {
		return "", &UnprovenError{gitDir, "it does not name this project as its worktree: git worktree repair sets that right"}
	}
	common := filepath.Dir(filepath.Dir(gitDir))
	named, err := pointer(filepath.Join(gitDir, "commondir"), "", gitDir)
	if err != nil || !sameFile(named, common) || !isGitDir(common) {
		return "", &UnprovenError{gitDir, "the repository above it is not its own"}
	}
	return common, nil
}

// submodule returns the git directory of a submodule, which names its work
// tree in its configuration.
func submodule(gitDir, project string) (string, error) {
	if !isGitDir(gitDir) {
		return "", &UnprovenError{gitDir, "it is not a git directory"}
	}
	config, err := readSmall(filepath.Join(gitDir, "config"))
	if err != nil {
		return "", err
	}
	tree := worktreeSetting(config)
	if tree == "" || !sameFile(absolute(tree, gitDir), project) {
		return "", &UnprovenError{gitDir, "it does not name this project as its work tree"}
	}
	return gitDir, nil
}

// worktreeSetting returns core.worktree of a git configuration, as git writes
// it for submodules.
func worktreeSetting(config []byte) (value string) {
	section := ""
	for s := bufio.NewScanner(bytes.NewReader(config)); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		if strings.HasPrefix(line, "[") {
			section = line
			continue
		}
		key, v, ok := strings.Cut(line, "=")
		if ok && section == "[core]" && strings.EqualFold(strings.TrimSpace(key), "worktree") {
			value = strings.TrimSpace(v)
		}
	}
	return value
}

// isGitDir reports whether a directory has what git looks for in one.
func isGitDir(dir string) bool {
	head, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil && head.Mode().IsRegular() && isDir(filepath.Join(dir, "objects")) && isDir(filepath.Join(dir, "refs"))
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// pointer reads a file that holds one path, which may be relative to base.
func pointer(file, prefix, base string) (string, error) {
	data, err := readSmall(file)
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	if !ok || path == "" {
		return "", &UnprovenError{file, "it holds no path"}
	}
	return absolute(path, base), nil
}

func absolute(path, base string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// readSmall reads a small regular file.
func readSmall(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxPointer {
		return nil, &UnprovenError{path, "it is no small file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxPointer))
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	ai, errA := os.Stat(a)
	bi, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(ai, bi)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
