package policy

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-cage/agent-cage/zone"
)

// memFS is a file system of the test's own: a directory for every key that
// ends in a slash, a symlink for a value "-> target", else a file whose mode
// and owner the value may give.
type memFS map[string]string

func (m memFS) Lstat(name string) (Stat, error) {
	if name == "/" {
		return Stat{Mode: fs.ModeDir | 0o755}, nil
	}
	if v, ok := m[name]; ok {
		if strings.HasPrefix(v, "-> ") {
			return Stat{Mode: fs.ModeSymlink | 0o777}, nil
		}
		st := Stat{Mode: 0o755, Links: 1}
		for _, field := range strings.Fields(v) {
			key, val, _ := strings.Cut(field, "=")
			n, _ := strconv.ParseUint(val, 8, 32)
			switch key {
			case "mode":
				st.Mode = fs.FileMode(n)
			case "uid":
				st.UID = uint32(n)
			case "links":
				st.Links = n
			case "fifo":
				st.Mode |= fs.ModeNamedPipe
			case "error":
				return Stat{}, fs.ErrPermission
			}
		}
		return st, nil
	}
	if v, ok := m[name+"/"]; ok {
		st := Stat{Mode: fs.ModeDir | 0o755}
		if strings.Contains(v, "open") {
			st.Mode |= 0o002
		}
		return st, nil
	}
	for other := range m {
		if strings.HasPrefix(other, name+"/") {
			return Stat{Mode: fs.ModeDir | 0o755}, nil
		}
	}
	return Stat{}, fs.ErrNotExist
}

func (m memFS) Readlink(name string) (string, error) {
	return strings.TrimPrefix(m[name], "-> "), nil
}

const (
	home = "/home/u"
	repo = "/home/u/projects/app"
)

// world is a host with sbox, a helper and a project in the zone.
func world() World {
	return World{
		Zone:    zone.Default(home),
		UID:     1000,
		SelfDir: "/usr/local/bin",
		Env:     []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "LANG=C.UTF-8"},
		FS: memFS{
			"/usr/local/bin/sbox":            "",
			"/usr/local/bin/cage-gate":       "",
			"/usr/bin/git":                   "",
			"/opt/link/sbox":                 "-> /usr/local/bin/sbox",
			"/opt/other/sbox":                "",
			"/tmp/":                          "",
			"/tmp/sbox":                      "",
			"/tmp/link":                      "-> /usr/local/bin/sbox",
			"/home/u/work/gh-issue":          "uid=1750",
			"/home/u/.ssh/id":                "",
			"/home/u/.cache/":                "",
			"/home/u/projects/app/main.go":   "",
			"/home/u/projects/app/sub/":      "",
			"/home/u/projects/app/sbox":      "",
			"/home/u/projects/app/.git/":     "",
			"/home/u/projects/out":           "-> /etc",
			"/home/u/projects/ssh":           "-> ../.ssh",
			"/home/u/projects/in":            "-> app/sub",
			"/home/u/projects/dangling":      "-> /home/u/new",
			"/home/u/projects/up":            "-> nowhere/../../.ssh",
			"/home/u/projects/loop":          "-> loop",
			"/home/u/projects/tmplink":       "-> /tmp",
			"/home/u/projects/gitlink":       "-> app/.git",
			"/home/u/projects/cachelink":     "-> ../.cache",
			"/home/u/projects/rc":            "-> app/.bashrc",
			"/home/u/projects/fifo":          "fifo",
			"/home/u/projects/two":           "links=2",
			"/home/u/projects/locked":        "error",
			"/home/u/projects/bare/HEAD":     "",
			"/home/u/projects/bare/objects/": "",
			"/home/u/projects/bare/refs/":    "",
			"/etc/passwd":                    "",
			"/proc/self/root":                "-> /",
		},
		Helpers:  []string{"/home/u/work/gh-issue"},
		MCPTools: []string{"mcp__docs__search"},
	}
}

// without returns a classifier of the world with rules taken away.
func without(w World, codes ...Code) *Classifier {
	c := New(w)
	c.off = map[Code]bool{}
	for _, code := range codes {
		c.off[code] = true
	}
	return c
}

// line is one case of a battery.
type line struct {
	where string
	field []string
}

// battery reads testdata/NAME.txt: blank lines and those that begin with #
// are skipped, fields are apart by tabs, one that begins with a double quote
// is a Go string.
func battery(t testing.TB, name string) []line {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []line
	seen := map[string]bool{}
	for i, text := range strings.Split(string(data), "\n") {
		if strings.TrimSpace(text) == "" || strings.HasPrefix(text, "#") {
			continue
		}
		l := line{where: name + ".txt:" + strconv.Itoa(i+1)}
		for _, f := range strings.Split(text, "\t") {
			if f == "" {
				continue
			}
			if strings.HasPrefix(f, `"`) {
				if f, err = strconv.Unquote(f); err != nil {
					t.Fatalf("%s: %v", l.where, err)
				}
			}
			l.field = append(l.field, f)
		}
		if seen[strings.Join(l.field, "\t")] {
			t.Fatalf("%s: the case is there twice", l.where)
		}
		seen[strings.Join(l.field, "\t")] = true
		out = append(out, l)
	}
	if len(out) == 0 {
		t.Fatalf("%s holds no cases", name)
	}
	return out
}
