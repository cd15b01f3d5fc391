package gitdir

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git runs the real one, which lays things out as it does for its users.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always", "-c", "user.name=n", "-c", "user.email=e"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func repository(t *testing.T, root, name string) string {
	t.Helper()
	dir := filepath.Join(root, name)
	git(t, root, "init", "-q", name)
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "m")
	return dir
}

func realTempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func TestOutside(t *testing.T) {
	root := realTempDir(t)
	main := repository(t, root, "main")
	tree := filepath.Join(root, "tree with space")
	git(t, main, "worktree", "add", "-q", "-b", "tree", tree)
	library := repository(t, root, "library")
	git(t, main, "submodule", "--quiet", "add", library, "lib")
	plain := filepath.Join(root, "plain")
	must(t, os.Mkdir(plain, 0o755))

	for project, want := range map[string]string{
		main:                       "",
		plain:                      "",
		tree:                       filepath.Join(main, ".git"),
		filepath.Join(main, "lib"): filepath.Join(main, ".git/modules/lib"),
	} {
		got, err := Outside(project)
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", project, got, err, want)
		}
	}
}

// Each of these projects asks for a directory that is not its own.
func TestHostile(t *testing.T) {
	root := realTempDir(t)
	secrets := filepath.Join(root, "secrets")
	must(t, os.Mkdir(secrets, 0o700))
	other := repository(t, root, "other")
	tree := filepath.Join(root, "tree")
	git(t, other, "worktree", "add", "-q", tree)
	fake := filepath.Join(root, "fake/worktrees/x")
	must(t, os.MkdirAll(fake, 0o755))

	for name, content := range map[string]string{
		"any directory":                 "gitdir: " + secrets + "\n",
		"another repository":            "gitdir: " + filepath.Join(other, ".git") + "\n",
		"another's worktree":            "gitdir: " + filepath.Join(other, ".git/worktrees/tree") + "\n",
		"a worktree of no repository":   "gitdir: " + fake + "\n",
		"something missing":             "gitdir: " + filepath.Join(root, "missing") + "\n",
		"no path":                       "gitdir: \n",
		"no pointer":                    "hello\n",
		"a pointer that is far too big": "gitdir: " + strings.Repeat("/x", maxPointer),
	} {
		project := filepath.Join(realTempDir(t), "p")
		must(t, os.Mkdir(project, 0o755))
		must(t, os.WriteFile(filepath.Join(project, ".git"), []byte(content), 0o644))
		must(t, os.WriteFile(filepath.Join(fake, "gitdir"), []byte(filepath.Join(project, ".git")+"\n"), 0o644))
		must(t, os.WriteFile(filepath.Join(fake, "commondir"), []byte("../../../secrets\n"), 0o644))
		got, err := Outside(project)
		var unproven *UnprovenError
		if got != "" || !errors.As(err, &unproven) {
			t.Errorf("%s: got %q, %v, want it refused", name, got, err)
		}
	}
}

func TestAbove(t *testing.T) {
	root := realTempDir(t)
	main := repository(t, root, "main")
	sub := filepath.Join(main, "a/b")
	must(t, os.MkdirAll(sub, 0o755))
	for project, want := range map[string]string{sub: main, main: "", root: ""} {
		if got := Above(project); got != want {
			t.Errorf("%s: got %q, want %q", project, got, want)
		}
	}
}

func TestLinkForAGitFile(t *testing.T) {
	root := realTempDir(t)
	must(t, os.Symlink(repository(t, root, "other")+"/.git", filepath.Join(root, ".git")))
	if got, err := Outside(root); got != "" || err != nil {
		t.Errorf("got %q, %v, want nothing", got, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
