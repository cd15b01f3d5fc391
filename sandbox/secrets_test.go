//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-cage/agent-cage/zone"
)

// hider returns a builder for an ordinary user with a home, in which the zone
// lies.
func hider(t *testing.T, environ ...string) *builder {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &Machine{
		UID: 1, Home: home, Dir: home + "/projects", StateDir: home + "/.local/state/agent-cage/sbox", Environ: environ,
		Zone: zone.Zone{Home: home, Roots: []zone.Root{{Path: home + "/projects"}}},
	}
	return newBuilder(m, Options{})
}

func makeFile(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Each place of the list is hidden, whether it is a file or a directory, and
// what stands beside it is not.
func TestEverySecretOfTheListIsHidden(t *testing.T) {
	for _, asDir := range []bool{false, true} {
		b := hider(t)
		inside := ""
		if asDir {
			inside = "/inner"
		}
		for _, s := range secrets {
			p := b.m.Home + "/" + s.path
			if inSecret(s.path) || !asDir && parentOfAnother(s.path) {
				continue
			}
			makeFile(t, p+inside)
			makeFile(t, filepath.Join(filepath.Dir(p), "harmless-"+filepath.Base(p)))
		}
		if err := b.secrets(); err != nil {
			t.Fatal(err)
		}
		for _, s := range secrets {
			p := b.m.Home + "/" + s.path
			if _, err := os.Lstat(p); err != nil {
				continue
			}
			if !b.isHidden(p) {
				t.Errorf("%s is not hidden", s.path)
			}
			if mt, ok := b.hidden[p]; ok && (mt.Kind == HideDir) != isDirectory(p) {
				t.Errorf("%s is hidden as %v", s.path, mt.Kind)
			}
			if beside := filepath.Join(filepath.Dir(p), "harmless-"+filepath.Base(p)); exists(beside) && b.isHidden(beside) && !inSecret(s.path) {
				t.Errorf("%s is hidden and no secret", beside)
			}
		}
	}
}

// inSecret reports whether a place lies in another place of the list.
func inSecret(p string) bool {
	for _, s := range secrets {
		if strings.HasPrefix(p, s.path+"/") {
			return true
		}
	}
	return false
}

func parentOfAnother(p string) bool {
	for _, s := range secrets {
		if strings.HasPrefix(s.path, p+"/") {
			return true
		}
	}
	return false
}

func isDirectory(p string) bool {
	fi, err := os.Stat(p)
	return err == nil && fi.IsDir()
}

func TestSecretsElsewhereAreHidden(t *testing.T) {
	tests := []struct {
		name   string
		env    string // with %H for home
		file   string
		hidden string
	}{
		{"by its own variable", "AWS_SHARED_CREDENTIALS_FILE=%H/other/aws", "other/aws", "other/aws"},
		{"one of a list", "KUBECONFIG=%H/k/a:%H/k/b", "k/b", "k/b"},
		{"with the rest of the path", "CARGO_HOME=%H/cargo", "cargo/credentials.toml", "cargo/credentials.toml"},
		{"a moved configuration", "XDG_CONFIG_HOME=%H/cfg", "cfg/gh/hosts.yml", "cfg/gh"},
		{"moved data", "XDG_DATA_HOME=%H/data", "data/keyrings/login", "data/keyrings"},
		{"settings of another project", "A=1", "work/site/.env", "work/site/.env"},
		{"settings of another project, named otherwise", "A=1", "work/.env.production", "work/.env.production"},
		{"direnv of another project", "A=1", "work/site/.envrc", "work/site/.envrc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := hider(t)
			b.m.Environ = []string{strings.ReplaceAll(tt.env, "%H", b.m.Home)}
			makeFile(t, b.m.Home+"/"+tt.file)
			makeFile(t, b.m.Home+"/harmless")
			makeFile(t, b.m.Home+"/projects/p/.env")
			if err := b.secrets(); err != nil {
				t.Fatal(err)
			}
			if _, ok := b.hidden[b.m.Home+"/"+tt.hidden]; !ok {
				t.Errorf("%s is not hidden", tt.hidden)
			}
			for _, p := range []string{"", "/harmless", "/projects", "/projects/p/.env"} {
				if b.isHidden(b.m.Home + p) {
					t.Errorf("home%s is hidden", p)
				}
			}
		})
	}
}

// A variable that names home, or what holds the current directory, hides
// nothing: everything would be gone.
func TestVariablesCannotHideEverything(t *testing.T) {
	b := hider(t)
	if err := os.MkdirAll(b.m.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b.m.Environ = []string{"GNUPGHOME=" + b.m.Home, "DOCKER_CONFIG=" + b.m.Dir, "KUBECONFIG=/tmp", "PULUMI_HOME=relative"}
	if err := b.secrets(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{b.m.Home, b.m.Dir, "/tmp"} {
		if b.isHidden(p) {
			t.Errorf("%s is hidden", p)
		}
	}
}

func TestLinkedSecretIsHiddenWhereItLies(t *testing.T) {
	b := hider(t)
	makeFile(t, b.m.Home+"/dotfiles/netrc")
	if err := os.Symlink("dotfiles/netrc", b.m.Home+"/.netrc"); err != nil {
		t.Fatal(err)
	}
	if err := b.secrets(); err != nil {
		t.Fatal(err)
	}
	if _, ok := b.hidden[b.m.Home+"/dotfiles/netrc"]; !ok {
		t.Errorf("what .netrc leads to is not hidden")
	}
}

func TestZoneInASecretIsRefused(t *testing.T) {
	b := hider(t)
	makeFile(t, b.m.Home+"/.ssh/zone/file")
	b.m.Zone.Roots = append(b.m.Zone.Roots, zone.Root{Path: b.m.Home + "/.ssh/zone", Source: zone.SourceConfigured})
	if err := b.secrets(); err == nil {
		t.Error("a zone root in ~/.ssh is taken")
	}
}
