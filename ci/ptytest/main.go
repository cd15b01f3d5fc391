// Command ptytest runs a program at a terminal of its own and acts as the
// person in front of it, as a script says.
//
//	ptytest [--size ROWSxCOLS] [--out FILE] [--keys FILE] --script FILE -- COMMAND...
//
// A script has one step a line; empty lines and those that begin with # are
// for its reader.
//
//	wait REGEXP      until the output since the last wait has it
//	never REGEXP     fails if all of the output so far has it
//	send STRING      types it at once; a STRING is quoted as in Go
//	paste FILE       types a file's bytes at once
//	keys STRING      types it key by key, each when the terminal is quiet
//	key STRING       types it as one key
//	size ROWS COLS   resizes the terminal
//	signal NAME      to the program
//	signal-fg NAME   to the terminal's foreground process group
//	modes found      until the terminal's modes are as at the start
//	modes raw        until no key is a signal, none echoed, none edited
//	run COMMAND      a shell command on the side, with $PID of the program
//	pause TIME       waits
//	deaf on|off      reads no more of what the program writes, or does again
//	hangup           closes the terminal
//	end STATUS       until the program has ended, with that status
//
// A step that does not come true within --timeout fails, and what the terminal
// showed is printed. --out gets all of the output, --keys a line for each key
// of a keys step: the key, and what the terminal answered.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ptytest:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("ptytest", flag.ContinueOnError)
	size := flags.String("size", "24x80", "the terminal's ROWSxCOLS")
	script := flags.String("script", "", "the script's file")
	out := flags.String("out", "", "where all of the output goes")
	keys := flags.String("keys", "", "where keys and their answers go")
	timeout := flags.Duration("timeout", 30*time.Second, "how long a step may take")
	quiet := flags.Duration("quiet", 250*time.Millisecond, "how long a terminal is silent to be quiet")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var rows, cols uint16
	if _, err := fmt.Sscanf(*size, "%dx%d", &rows, &cols); err != nil {
		return fmt.Errorf("size %q: %w", *size, err)
	}
	text, err := os.ReadFile(*script)
	if err != nil {
		return err
	}
	s, err := open(flags.Args(), rows, cols)
	if err != nil {
		return err
	}
	defer s.close()
	s.timeout, s.quiet = *timeout, *quiet
	err = s.play(string(text))
	if *out != "" {
		err = errors.Join(err, os.WriteFile(*out, s.output(), 0o666))
	}
	if *keys != "" {
		err = errors.Join(err, os.WriteFile(*keys, s.keys.Bytes(), 0o666))
	}
	return err
}
