package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

func TestFindDockerfile(t *testing.T) {
	dir := realTempDir(t)
	must(t, os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("FROM x"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "other"), nil, 0o600))
	must(t, os.Symlink("Dockerfile", filepath.Join(dir, "link")))
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "leak")))
	t.Chdir(dir)
	for _, path := range []string{"Dockerfile", "./Dockerfile", "link", filepath.Join(dir, "Dockerfile")} {
		d, err := FindDockerfile(path)
		if err != nil || d.Path != filepath.Join(dir, "Dockerfile") || d.Name != "Dockerfile" || len(d.ID) != 10 {
			t.Errorf("%s: got %+v, %v", path, d, err)
			continue
		}
		if content, err := fs.ReadFile(d.Context, d.Name); err != nil || string(content) != "FROM x" {
			t.Errorf("%s: got %q, %v", path, content, err)
		}
		if content, err := fs.ReadFile(d.Context, "leak"); err == nil {
			t.Errorf("a link leads out of the context: %q", content)
		}
	}
	a, errA := FindDockerfile("Dockerfile")
	b, errB := FindDockerfile("other")
	if errA != nil || errB != nil || a.ID == b.ID {
		t.Errorf("got %v, %v, %v, %v, want two IDs", a, errA, b, errB)
	}
	for path, want := range map[string]string{"missing": "no such file", ".": "not a regular file", "": "not a regular file"} {
		_, err := FindDockerfile(path)
		checkRefused(t, path, "", err, "", want)
	}
}

func TestContextTooLarge(t *testing.T) {
	dir := realTempDir(t)
	for i := range maxContextFiles + 1 {
		must(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o600))
	}
	_, err := FindDockerfile(filepath.Join(dir, "0"))
	checkRefused(t, dir, "", err, "", "put it into one of its own")
}

func TestContextWithAPipe(t *testing.T) {
	dir := realTempDir(t)
	must(t, os.WriteFile(filepath.Join(dir, "Dockerfile"), nil, 0o600))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "link")))
	if _, err := FindDockerfile(filepath.Join(dir, "Dockerfile")); err != nil {
		t.Error(err)
	}
	must(t, os.Mkdir(filepath.Join(dir, "run"), 0o700))
	must(t, syscall.Mkfifo(filepath.Join(dir, "run/pipe"), 0o600))
	_, err := FindDockerfile(filepath.Join(dir, "Dockerfile"))
	checkRefused(t, dir, "", err, "", `"run/pipe", which is no file that a build can have`)
}
