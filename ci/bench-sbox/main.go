//go:build linux

// Command bench-sbox measures what a cage costs: `sbox true` beside bubblewrap
// with the same arguments and, where it is installed, the npm sandbox runtime
// (srt of @anthropic-ai/sandbox-runtime). The runs are interleaved. Its status
// is 1 if sbox costs more than the budget.
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
	"time"

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

// contender is one way to run `true`.
type contender struct {
	name  string
	cmd   func() (*exec.Cmd, error)
	times []time.Duration
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
	all := []*contender{
		{name: "bwrap", cmd: bwrap},
		{name: "sbox", cmd: func() (*exec.Cmd, error) { return exec.Command(sbox, "true"), nil }},
	}
	if path, err := exec.LookPath(srt); err == nil {
		all = append(all, &contender{name: "srt", cmd: func() (*exec.Cmd, error) { return exec.Command(path, "true"), nil }})
	} else {
		fmt.Println("srt is left out: npm install @anthropic-ai/sandbox-runtime, and name its srt with -srt")
	}
	for round := range rounds + 1 {
		for i := range all {
			c := all[(i+round)%len(all)]
			took, err := once(c, environ)
			if err != nil {
				return false, fmt.Errorf("%s: %w", c.name, err)
			}
			if round > 0 { // the first one fills caches
				c.times = append(c.times, took)
			}
		}
	}
	return report(all), nil
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

func once(c *contender, environ []string) (time.Duration, error) {
	cmd, err := c.cmd()
	if err != nil {
		return 0, err
	}
	cmd.Env = environ
	var said strings.Builder
	cmd.Stderr = &said
	start := time.Now()
	err = cmd.Run()
	took := time.Since(start)
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return took, nil
}

// report prints medians, the middle half of the runs, and each median as a
// multiple of the first's.
func report(all []*contender) (over bool) {
	base := all[0]
	for _, c := range all {
		slices.Sort(c.times)
		n := len(c.times)
		median := c.times[n/2]
		ratio := float64(median) / float64(base.times[len(base.times)/2])
		fmt.Printf("%-6s least %7.2f ms, median %7.2f ms, middle half %7.2f to %7.2f ms, %5.2f × %s\n",
			c.name, ms(c.times[0]), ms(median), ms(c.times[n/4]), ms(c.times[n*3/4]), ratio, base.name)
		if c.name == "sbox" && ratio > budget {
			fmt.Printf("sbox is over its budget of %.1f\n", budget)
			over = true
		}
	}
	return over
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
