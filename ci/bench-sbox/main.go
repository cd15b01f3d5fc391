//go:build linux

// Command bench-sbox measures what a cage costs: `sbox true` beside bubblewrap
// told to build the same cage by itself and, where it is installed, the npm
// sandbox runtime (srt of @anthropic-ai/sandbox-runtime). The runs are
// interleaved. Its status is 1 if sbox costs more than the budget.
//
//	make build && go run ./ci/bench-sbox [-rounds N] [-srt PATH]
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-cage/agent-cage/internal/bench"
	"github.com/agent-cage/agent-cage/sandbox"
)

// budget is what sbox may cost, as a multiple of bubblewrap's own time.
const budget = 1.2

func main() {
	rounds := flag.Int("rounds", 60, "runs of each")
	srt := flag.String("srt", "srt", "the npm sandbox runtime's program")
	sbox := flag.String("sbox", "bin/sbox", "the program to measure")
	flag.Parse()
	over, err := run(*rounds, *sbox, *srt)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-sbox:", err)
		os.Exit(2)
	}
	if over {
		os.Exit(1)
	}
}

func run(rounds int, sbox, srt string) (over bool, err error) {
	sbox, err = filepath.Abs(sbox)
	if err != nil {
		return false, err
	}
	// Outside /tmp, which is in the zone.
	home, err := os.MkdirTemp("/var/tmp", "bench-sbox.")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(home)
	// bubblewrap has a project of its own, in which the placeholders stay.
	project, twin := home+"/projects/p", home+"/projects/q"
	for _, dir := range []string{project, twin, home + "/.cache", home + "/.ssh"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return false, err
		}
	}
	for _, dir := range []string{project, twin} {
		if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
			return false, fmt.Errorf("git init: %w: %s", err, out)
		}
	}
	if err := os.Chdir(twin); err != nil {
		return false, err
	}
	environ := append(slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "HOME=") || strings.HasPrefix(kv, "XDG_")
	}), "HOME="+home)

	bwrap, err := bubblewrap(environ, home)
	if err != nil {
		return false, err
	}
	if err := os.Chdir(project); err != nil {
		return false, err
	}
	base := &bench.Contender{Name: "bwrap", Cmd: inEnvironment(environ, bwrap)}
	caged := &bench.Contender{Name: "sbox", Cmd: inEnvironment(environ, program(sbox))}
	all := []*bench.Contender{base, caged}
	if path, err := exec.LookPath(srt); err == nil {
		all = append(all, &bench.Contender{Name: "srt", Cmd: inEnvironment(environ, program(path))})
	} else {
		fmt.Println("srt is left out: npm install @anthropic-ai/sandbox-runtime, and name its srt with -srt")
	}
	if err := bench.Run(rounds, all); err != nil {
		return false, err
	}
	bench.Report(os.Stdout, all)
	if over = caged.Ratio(base) > budget; over {
		fmt.Printf("sbox is over its budget of %.1f\n", budget)
	}
	return over, nil
}

// program runs `true` by a program.
func program(path string) func() (*exec.Cmd, error) {
	return func() (*exec.Cmd, error) { return exec.Command(path, "true"), nil }
}

// inEnvironment gives the commands of a contender their environment.
func inEnvironment(environ []string, fresh func() (*exec.Cmd, error)) func() (*exec.Cmd, error) {
	return func() (*exec.Cmd, error) {
		cmd, err := fresh()
		if err == nil {
			cmd.Env = environ
		}
		return cmd, err
	}
}

// bubblewrap returns the same cage as sbox builds in the current directory, by
// bubblewrap alone.
func bubblewrap(environ []string, home string) (func() (*exec.Cmd, error), error) {
	m, err := sandbox.ReadMachine(environ)
	if err != nil {
		return nil, err
	}
	d, err := sandbox.Describe(m, sandbox.Options{Command: []string{"true"}})
	if err != nil {
		return nil, err
	}
	for _, p := range d.Placeholders {
		if err := hold(p); err != nil {
			return nil, err
		}
	}
	d.Mounts = slices.DeleteFunc(d.Mounts, func(mt sandbox.Mount) bool {
		_, err := os.Lstat(mt.Source)
		return mt.Source != "" && errors.Is(err, os.ErrNotExist)
	})
	for i, mt := range d.Mounts {
		// bubblewrap has no overlays before 0.11; this is less work.
		if mt.Kind == sandbox.Overlay {
			d.Mounts[i] = sandbox.Mount{Kind: sandbox.Writable, Source: mt.Target, Target: mt.Target}
		}
	}
	filter, err := sandbox.Filter(false)
	if err != nil {
		return nil, err
	}
	file := home + "/filter"
	if err := os.WriteFile(file, filter, 0o600); err != nil {
		return nil, err
	}
	args := append(d.Arguments(), "--seccomp", "3", "--", "true")
	fmt.Printf("bubblewrap %s, %d mounts\n", m.Bubblewrap.Version, len(d.Mounts))
	return func() (*exec.Cmd, error) {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(m.Bubblewrap.Path, args...)
		cmd.ExtraFiles = []*os.File{f}
		return cmd, nil
	}, nil
}

// hold makes a placeholder.
func hold(p sandbox.Placeholder) error {
	if p.Dir {
		return os.MkdirAll(p.Path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(p.Path, nil, 0o444)
}
