// Command bench-launch measures what a box costs beyond a container: a warm
// `claude-box --engine none --exec true` beside `docker run --rm --init` with
// the same options, the runs in turn. Its status is 1 if the box costs more
// than the budget. The images have to be up to date: launch once before.
//
//	make build && go run ./ci/bench-launch [-rounds N] [-launcher PATH]
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/agent-cage/agent-cage/internal/bench"
)

// budget is what a launch may cost, as a multiple of docker run's own time.
const budget = 1.05

func main() {
	rounds := flag.Int("rounds", 30, "runs of each")
	launcher := flag.String("launcher", "bin/claude-box", "the launcher to measure")
	flag.Parse()
	over, err := run(*rounds, *launcher)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-launch:", err)
		os.Exit(2)
	}
	if over {
		os.Exit(1)
	}
}

func run(rounds int, launcher string) (over bool, err error) {
	launcher, err = filepath.Abs(launcher)
	if err != nil {
		return false, err
	}
	// The state has to exist for docker, whose mounts are as the box's.
	project, err := os.MkdirTemp("", "bench-launch.")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(project)
	command := func(argv ...string) *exec.Cmd {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = project
		return cmd
	}
	line, err := command(launcher, "--engine", "none", "--dry-run=docker", "--exec", "true").Output()
	if err != nil {
		return false, fmt.Errorf("--dry-run=docker: %w", err)
	}
	plain, err := plainRun(string(line), filepath.Join(project, "seccomp.json"))
	if err != nil {
		return false, err
	}
	docker := &bench.Contender{Name: "docker run", Cmd: func() (*exec.Cmd, error) { return command("sh", "-c", "exec "+plain), nil }}
	box := &bench.Contender{Name: "box", Cmd: func() (*exec.Cmd, error) {
		return command(launcher, "--engine", "none", "--exec", "true"), nil
	}}
	all := []*bench.Contender{docker, box}
	if err := bench.Run(rounds, all); err != nil {
		return false, err
	}
	bench.Report(os.Stdout, all)
	if over = box.Ratio(docker) > budget; over {
		fmt.Printf("the box is over its budget of %.2f\n", budget)
	}
	return over, nil
}

var (
	profile = regexp.MustCompile(`<\(printf %s '([^']*)'\)`)
	ownName = regexp.MustCompile(` --name=\S+`)
)

// plainRun makes of the launcher's docker line one that runs `true` under
// Docker's own init and removes itself. The seccomp profile goes into a file.
func plainRun(line, profileFile string) (string, error) {
	found := profile.FindStringSubmatch(line)
	if found == nil || !strings.Contains(line, " --init=false ") {
		return "", fmt.Errorf("the docker line is not as expected: %s", line)
	}
	if err := os.WriteFile(profileFile, []byte(found[1]), 0o600); err != nil {
		return "", err
	}
	line = profile.ReplaceAllString(line, profileFile)
	line = ownName.ReplaceAllString(line, "")
	return strings.Replace(line, " --init=false ", " --rm --init --entrypoint=true ", 1), nil
}
