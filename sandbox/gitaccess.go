//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// gitControl are the files of a git directory that decide what git runs and
// where it looks; a git command in the cage may not write them. They are
// mounted read-only where they exist and compared afterwards in any case.
var gitControl = []string{
	"config", "config.worktree", "hooks", "commondir", "gitdir", "info/attributes", "info/grafts",
	"objects/info/alternates", "objects/info/http-alternates", "modules", "remotes", "branches",
}

// writesConfig are the git commands that record a branch's upstream in the
// configuration. It is writable for them, no hook runs, and of what they
// wrote only branches stay.
var writesConfig = map[string]bool{"branch": true, "switch": true, "checkout": true, "worktree": true}

// writesTree are the git commands that write the working tree: files that the
// host executes later may come with a branch.
var writesTree = map[string]bool{
	"switch": true, "checkout": true, "rebase": true, "stash": true, "merge": true, "reset": true, "restore": true, "cherry-pick": true,
	"revert": true, "am": true, "apply": true, "clean": true, "mv": true, "rm": true, "worktree": true, "read-tree": true,
	"checkout-index": true, "bisect": true, "sparse-checkout": true, "add": true, "stage": true, "pull": true,
}

// gitOptionsWithValue are git's own options that take the next word.
var gitOptionsWithValue = map[string]bool{
	"-C": true, "-c": true, "--git-dir": true, "--work-tree": true, "--namespace": true, "--exec-path": false, "--config-env": true,
	"--super-prefix": true, "--attr-source": true,
}

// gitSubcommand returns the git command in a git command line; empty if there
// is none.
func gitSubcommand(args []string) string {
	for i := 1; i < len(args); i++ {
		switch a := args[i]; {
		case gitOptionsWithValue[a]:
			i++
		case strings.HasPrefix(a, "-"):
		default:
			return a
		}
	}
	return ""
}

// gitAccess opens the git directory of the current repository for a git
// command, its control files excepted. What protectRepository made of it is
// replaced.
func (b *builder) gitAccess() error {
	sub := gitSubcommand(b.o.Command)
	b.d.Git = &GitAccess{Command: sub, Hooks: !writesConfig[sub], Config: writesConfig[sub], Reason: "no repository here"}
	if b.repoTop == "" {
		return nil
	}
	gitDir, common, err := resolveGitDir(b.repoTop)
	if err != nil {
		return &RefusedError{Cause: "the git directory of " + b.repoTop + " cannot be used", Err: err}
	}
	for _, dir := range []string{gitDir, common} {
		if !b.inSharedZone(dir) || b.m.isRoot(dir) {
			return refusedf("run git outside the cage", "the git directory %s is outside the zone", dir)
		}
	}
	b.d.Git.Dir, b.d.Git.Common, b.d.Git.Top = gitDir, common, b.repoTop
	b.d.Git.Reason = "writable but for its control files; they are compared afterwards"
	for _, dir := range []string{gitDir, common} {
		b.inner[dir] = Mount{Kind: Writable, Source: dir, Target: dir, Checked: true, Reason: "git directory, for git alone"}
		b.pinAbove(dir)
	}
	for _, dir := range []string{gitDir, common} {
		for _, name := range gitControl {
			if name == "config" && b.d.Git.Config {
				continue
			}
			p := dir + "/" + name
			fi, err := os.Lstat(p)
			if err == nil && (fi.IsDir() || fi.Mode().IsRegular()) && b.inner[p].Kind != Writable {
				b.inner[p] = Mount{Kind: ReadOnly, Source: p, Target: p, Checked: true, Reason: "git control file"}
			}
		}
	}
	return nil
}

// resolveGitDir returns the git directory of the repository at top, and the
// one that it shares with its other worktrees: itself, where it has none.
func resolveGitDir(top string) (gitDir, common string, err error) {
	gitDir = top + "/.git"
	fi, err := os.Lstat(gitDir)
	switch {
	case os.IsNotExist(err) && looksBare(top):
		gitDir = top
	case err != nil:
		return "", "", err
	case fi.Mode().IsRegular():
		dir, ok := gitFileTarget(gitDir)
		if !ok {
			return "", "", refusedf("", "%s names no git directory", gitDir)
		}
		gitDir = dir
	case fi.Mode()&os.ModeSymlink != 0:
		if gitDir, err = filepath.EvalSymlinks(gitDir); err != nil {
			return "", "", err
		}
	case !fi.IsDir():
		return "", "", refusedf("", "%s is neither a directory nor a file", gitDir)
	}
	common = gitDir
	if c, ok := namedPath(gitDir+"/commondir", ""); ok {
		common = c
	}
	return gitDir, common, nil
}
