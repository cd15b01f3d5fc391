//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agent-cage/agent-cage/internal/version"
	"github.com/agent-cage/agent-cage/sandbox"
)

const usage = `Usage: sbox [flags] CMD [ARG…]

Run CMD in a cage: everything read-only but the green zone, no network,
secrets hidden. The exit status is CMD's; 126 if the cage is refused or CMD
cannot be executed, 127 if CMD is not found, 2 for a wrong command line.

Flags, before CMD:
  --print, --print=json   show the cage and run nothing
  --env NAME              keep a variable that would be dropped
  --private-tmp           give the cage a /tmp of its own
  --allow-userns          let CMD make namespaces of its own
  --git                   CMD is git and may write the git directory
  --doctor [--json]       try the cage on this machine and say what is missing
  --doctor --fix          install the AppArmor profile where one is needed
  --version, --help
  --                      end of the flags
`

// mode is what sbox is asked to do.
type mode int

const (
	modeRun mode = iota
	modePrint
	modePrintJSON
	modeDoctor
	modeVersion
	modeHelp
)

// request is a parsed command line.
type request struct {
	mode      mode
	options   sandbox.Options
	json, fix bool
}

// parse reads the flags that stand before the command.
func parse(args []string) (request, error) {
	var r request
	rest := args
	for len(rest) > 0 {
		arg := rest[0]
		if arg == "--" {
			rest = rest[1:]
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			break
		}
		rest = rest[1:]
		name, value, hasValue := strings.Cut(arg, "=")
		switch {
		case arg == "--print":
			r.mode = modePrint
		case arg == "--print=json":
			r.mode = modePrintJSON
		case name == "--env":
			if !hasValue {
				if len(rest) == 0 {
					return r, &sandbox.UsageError{Reason: "--env needs the name of a variable"}
				}
				value, rest = rest[0], rest[1:]
			}
			if value == "" || strings.ContainsAny(value, "=\x00") {
				return r, &sandbox.UsageError{Reason: fmt.Sprintf("--env: %q is not the name of a variable", value)}
			}
			r.options.KeepEnv = append(r.options.KeepEnv, value)
		case arg == "--private-tmp":
			r.options.PrivateTmp = true
		case arg == "--allow-userns":
			r.options.AllowUserns = true
		case arg == "--git":
			r.options.Git = true
		case arg == "--doctor":
			r.mode = modeDoctor
		case arg == "--json":
			r.json = true
		case arg == "--fix":
			r.fix = true
		case arg == "--version":
			r.mode = modeVersion
		case arg == "--help" || arg == "-h":
			r.mode = modeHelp
		default:
			return r, &sandbox.UsageError{Reason: fmt.Sprintf("unknown flag %q (a command that starts with a dash goes after --)", arg)}
		}
	}
	r.options.Command = rest
	err := r.check()
	return r, err
}

func (r *request) check() error {
	switch {
	case (r.json || r.fix) && r.mode != modeDoctor:
		return &sandbox.UsageError{Reason: "--json and --fix belong to --doctor"}
	case r.mode == modeDoctor && len(r.options.Command) > 0:
		return &sandbox.UsageError{Reason: "--doctor takes no command"}
	case r.mode == modeRun && len(r.options.Command) == 0:
		return &sandbox.UsageError{Reason: "no command"}
	case r.options.Git && r.mode == modeRun && r.options.Command[0] != "git":
		return &sandbox.UsageError{Reason: "--git runs git and nothing else"}
	}
	return nil
}

// run does what the arguments ask and returns the exit status.
func run(args, environ []string, out, errw io.Writer) int {
	r, err := parse(args)
	if err == nil {
		var status int
		if status, err = r.do(environ, out, errw); err == nil {
			return status
		}
	}
	var ue *sandbox.UsageError
	if errors.As(err, &ue) {
		fmt.Fprintf(errw, "sbox: %v; see sbox --help\n", err)
		return sandbox.StatusUsage
	}
	fmt.Fprintf(errw, "sbox: %s\n", oneLine(err.Error()))
	return sandbox.StatusRefused
}

func (r *request) do(environ []string, out, errw io.Writer) (int, error) {
	switch r.mode {
	case modeHelp:
		_, err := io.WriteString(out, usage)
		return 0, err
	case modeVersion:
		_, err := fmt.Fprintln(out, "sbox", version.String())
		return 0, err
	}
	if r.mode == modeDoctor {
		return doctor(r, environ, out)
	}
	m, err := sandbox.ReadMachine(environ)
	if err != nil {
		return 0, err
	}
	if r.mode == modePrint || r.mode == modePrintJSON {
		d, err := sandbox.Describe(m, r.options)
		if err != nil {
			return 0, err
		}
		if r.mode == modePrintJSON {
			return 0, d.WriteJSON(out)
		}
		return 0, d.WriteText(out)
	}
	m.Ignored = ignored
	res, err := sandbox.Run(m, r.options, errw)
	if err != nil {
		return 0, err
	}
	return res.Die(), nil
}

// oneLine keeps a message from taking more than its line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
