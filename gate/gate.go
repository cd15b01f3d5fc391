// Package gate stands between a coding agent's harness and its tools: it reads
// the harness's event, has it classified, and answers in the harness's own
// protocol. Whatever goes wrong on the way blocks the call.
package gate

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Statuses of the program.
const (
	// StatusBlocked is the only failure status: harnesses let a call run
	// when its hook exits with any other.
	StatusBlocked = 2
)

// Env is what the program takes from its process.
type Env struct {
	Args     []string // without the program's name
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
	Environ  []string
	Dir      string           // the current directory; absolute
	SelfDir  string           // where the running program lies, symlinks resolved
	UID      int              // the effective user
	System   string           // the directory of root's settings
	EtcDir   string           // holds the harnesses' managed settings
	Now      func() time.Time // the clock of the records
	Deadline time.Duration    // for one hook
	Context  context.Context  // ends commands that wait; nil means never
}

// deadline is far below those of the harnesses, of which the shortest known
// is a minute.
const deadline = 10 * time.Second

// Process returns the environment of the running process.
func Process() Env {
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	selfDir := ""
	if err == nil {
		selfDir = filepath.Dir(self)
	}
	return Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(), Dir: dir, SelfDir: selfDir, UID: os.Geteuid(),
		System: SystemDir, EtcDir: "/etc", Now: time.Now, Deadline: deadline, Context: context.Background(),
	}
}

// getenv returns a variable, "" if it is not set. Of two it returns the last.
func (e Env) getenv(name string) string {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(e.Environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

const usage = `Usage: cage-gate COMMAND

  hook claude|codex            answer a harness's PreToolUse event on stdin
  classify [--json] [COMMAND]  say what a shell command is; without COMMAND,
                               read JSON strings, one a line, from stdin
  classify [--json] --file F   the same from a file
  explain COMMAND              say which rule decided, and where
  allow [--all | --project DIR] [--for TIME] PROGRAM [ARG…]
  revoke [--all | --project DIR] PROGRAM [ARG…]
  allowed [--json]             plain commands that run uncaged without asking
  git [-C DIR] fetch|pull|push REMOTE [REF…]
                               git over the network, to approved remotes
  remotes add|remove URL, remotes list
                               where the current project may fetch and push
  install claude|codex [--scope user|managed] [--dry-run]
  uninstall claude|codex [--scope user|managed] [--dry-run]
  status claude|codex          whether the hook is registered
  log [FILTER…] [--json] [--follow]
                               what was decided; log --help lists the filters
  log summary [FILTER…]        what was gated most, and what would have been green
  log verify                   say whether the log is whole
  version
`

// Main runs the program and returns its exit status.
func Main(e Env) int {
	if len(e.Args) == 0 {
		fmt.Fprint(e.Stderr, usage)
		return StatusBlocked
	}
	rest := e.Args[1:]
	switch e.Args[0] {
	case "hook":
		return hook(e, rest)
	case "classify":
		return classify(e, rest)
	case "explain":
		return explain(e, rest)
	case "allow", "revoke":
		return allowCommand(e, e.Args[0], rest)
	case "allowed":
		return allowed(e, rest)
	case "install", "uninstall", "status":
		return installCommand(e, e.Args[0], rest)
	case "git":
		return gitCommand(e, rest)
	case "remotes":
		return remotes(e, rest)
	case "log":
		return logCommand(e, rest)
	case "version", "--version":
		return version(e)
	case "help", "--help", "-h":
		fmt.Fprint(e.Stdout, usage)
		return 0
	}
	return e.fail(fmt.Errorf("unknown command %q", e.Args[0]))
}

// fail says on one line of stderr why, and returns the blocking status. The
// line is never empty: a harness takes an empty one for a broken hook and lets
// the call run.
func (e Env) fail(err error) int {
	text := "failed"
	if err != nil && strings.TrimSpace(err.Error()) != "" {
		text = err.Error()
	}
	fmt.Fprintf(e.Stderr, "cage-gate: %s\n", oneLine(text))
	return StatusBlocked
}

// oneLine makes a message fit for one line of a terminal, and short.
func oneLine(s string) string {
	const most = 500
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0xfffd ||
			r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
