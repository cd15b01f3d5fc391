package policy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// stub logs the number of its arguments, its name and them, apart by NUL.
const stub = `#!/bin/sh
printf '%s\0' "$#" "$0" "$@" >>"/mnt/log/$CASE"
`

// driver runs every case with the shell that it is given.
const driver = `cd /home/u/projects/app || exit 1
for f in /mnt/cases/*; do
  CASE=${f##*/} "$1" -c "$(cat "$f")" </dev/null >/dev/null 2>"/mnt/err/${f##*/}"
done
`

// What the classifier says about green commands is compared with what real
// shells do: stub programs stand where sbox, git and the helper would, and log
// what they were called with. The file system is read-only but for the
// project, where nothing may appear.
func TestGreenCommandsInRealShells(t *testing.T) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("bubblewrap is not installed")
	}
	if out, err := exec.Command(bwrap, "--ro-bind", "/", "/", "true").CombinedOutput(); err != nil {
		t.Skipf("bubblewrap does not run here: %s", out)
	}
	for _, shell := range []string{"bash", "zsh"} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skip(shell + " is not installed")
			}
			inShell(t, bwrap, path)
		})
	}
}

type oracleCase struct {
	where, text string
	want        [][]string
}

// oracleCases are the green commands as they are and, where there is one, in
// their rewritten form, with what the classifier says of the arguments.
func oracleCases(t *testing.T) []oracleCase {
	var cases []oracleCase
	c := New(world())
	for _, l := range battery(t, "green") {
		v := c.Classify(Command(l.field[0], repo))
		plain := oracleCase{where: l.where, text: l.field[0]}
		for _, s := range v.Segments {
			plain.want = append(plain.want, s.Args)
		}
		cases = append(cases, plain)
		if v.Rewrite == "" {
			continue
		}
		again := oracleCase{where: l.where + " rewritten", text: v.Rewrite}
		for _, s := range v.Segments {
			args := append([]string{"/usr/local/bin/sbox"}, s.Args[1:]...)
			if s.Code == CodeGit {
				args = append([]string{"/usr/local/bin/sbox", "--git"}, s.Args...)
			} else if s.Code == CodeHelper {
				args = s.Args
			}
			again.want = append(again.want, args)
		}
		cases = append(cases, again)
	}
	for i, text := range []string{
		"ls", "a 'b' \"c\" `d` $e \\f !g", "''", "'a''b'", "x\ny\tz", "'", "\"'\"'\"", "é ~ {a,b} *",
	} {
		caged, ok := c.Cage(Command(text, repo))
		if !ok {
			t.Fatalf("%q cannot be caged", text)
		}
		cases = append(cases, oracleCase{where: fmt.Sprintf("caged %d", i), text: caged,
			want: [][]string{{"/usr/local/bin/sbox", "bash", "-c", text}}})
	}
	return cases
}

func inShell(t *testing.T, bwrap, shell string) {
	dir := t.TempDir()
	for _, sub := range []string{"log", "cases", "err", "home/u/projects/app/sub", "home/u/work", "bin", "opt/link"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bin/sbox", "bin/git", "bin/cage-gate", "opt/link/sbox", "home/u/work/gh-issue"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(stub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "home/u/projects/app/main.go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cases := oracleCases(t)
	for i, c := range cases {
		if err := os.WriteFile(filepath.Join(dir, "cases", fmt.Sprintf("%04d", i)), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, filepath.Join(dir, "home"))
	cmd := exec.Command(bwrap, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
		"--tmpfs", "/mnt", "--bind", dir+"/log", "/mnt/log", "--bind", dir+"/err", "/mnt/err", "--ro-bind", dir+"/cases", "/mnt/cases",
		"--bind", dir+"/home", "/home", "--ro-bind", dir+"/opt", "/opt", "--ro-bind", dir+"/bin", "/usr/local/bin", "--chdir", "/",
		"--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", home, "--setenv", "LANG", "C.UTF-8",
		"/bin/sh", "-c", driver, "driver", shell)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for i, c := range cases {
		log, err := os.ReadFile(filepath.Join(dir, "log", fmt.Sprintf("%04d", i)))
		if err != nil {
			t.Fatalf("%s: %q ran nothing: %v", c.where, c.text, err)
		}
		got := records(string(log))
		if len(got) != len(c.want) {
			t.Errorf("%s: %q ran %q, want %q", c.where, c.text, got, c.want)
			continue
		}
		for k, want := range c.want {
			if !strings.Contains(want[0], "/") {
				want = append([]string{"/usr/local/bin/" + want[0]}, want[1:]...)
			}
			if strings.Join(got[k], "\x00") != strings.Join(want, "\x00") {
				t.Errorf("%s: %q ran %q, want %q", c.where, c.text, got[k], want)
			}
		}
	}
	if after := tree(t, filepath.Join(dir, "home")); after != before {
		t.Errorf("files appeared:\n%s\nbefore:\n%s", after, before)
	}
}

func records(log string) [][]string {
	fields := strings.Split(strings.TrimSuffix(log, "\x00"), "\x00")
	var out [][]string
	for len(fields) > 1 {
		n, err := strconv.Atoi(fields[0])
		if err != nil || n+2 > len(fields) {
			return append(out, fields)
		}
		out = append(out, fields[1:n+2])
		fields = fields[n+2:]
	}
	return out
}

func tree(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err == nil {
			fmt.Fprintln(&b, name, info.Size(), info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
