//go:build linux

package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"
)

// WriteJSON writes the description as one JSON document.
func (d *Description) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(d)
}

// WriteText writes the description for people.
func (d *Description) WriteText(w io.Writer) error {
	var b strings.Builder
	section := func(name string) { fmt.Fprintf(&b, "\n%s\n", name) }
	fmt.Fprintf(&b, "directory    %s\n", quoted(d.Dir))
	fmt.Fprintf(&b, "bubblewrap   %s (%s)\n", quoted(d.Bubblewrap.Path), d.Bubblewrap.Version)
	if len(d.Command) > 0 {
		words := make([]string, len(d.Command))
		for i, c := range d.Command {
			words[i] = quoted(c)
		}
		fmt.Fprintf(&b, "command      %s\n", strings.Join(words, " "))
	}
	if d.Git != nil {
		fmt.Fprintf(&b, "git          %s: %s\n", quoted(d.Git.Dir), d.Git.Reason)
	}
	if len(d.Notes) > 0 {
		section("Notes")
		for _, n := range d.Notes {
			fmt.Fprintf(&b, "  %s\n", n)
		}
	}
	section("Namespaces")
	for _, n := range d.Namespaces {
		fmt.Fprintf(&b, "  %-14s %s\n", n.Name, n.Reason)
	}
	section("Mounts")
	for _, m := range d.Mounts {
		at := quoted(m.Target)
		if m.Source != "" && m.Source != m.Target {
			at += " from " + quoted(m.Source)
		}
		fmt.Fprintf(&b, "  %-14s %s  (%s)\n", m.Kind, at, m.Reason)
	}
	if len(d.Placeholders) > 0 {
		section("Held while the command runs, because absent")
		for _, p := range d.Placeholders {
			fmt.Fprintf(&b, "  %s  (%s)\n", quoted(p.Path), p.Reason)
		}
	}
	if len(d.Watches) > 0 {
		section("Compared afterwards")
		for _, p := range d.Watches {
			fmt.Fprintf(&b, "  %s  (%s)\n", quoted(p.Path), p.Reason)
		}
	}
	section("Environment")
	for _, e := range d.Env {
		verb := "drop"
		if e.Set {
			verb = "set"
		}
		fmt.Fprintf(&b, "  %-14s %s  (%s)\n", verb, quoted(e.Name), e.Reason)
	}
	section("System calls refused")
	for _, r := range d.Seccomp {
		call := r.Call
		if r.When != "" {
			call += ": " + r.When
		}
		fmt.Fprintf(&b, "  %-14s %s  (%s)\n", r.Errno, call, r.Reason)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// quoted leaves a plain word as it is.
func quoted(s string) string {
	for _, r := range s {
		if r <= 0x20 || r >= 0x7f || strings.ContainsRune(`"'\$&|;<>()*?[]#~`+"`", r) {
			return fmt.Sprintf("%q", s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

// Die ends this process as the command ended, where that was by a signal;
// otherwise it returns the status to exit with.
func (r Result) Die() int {
	if r.Signal != 0 {
		// A core file of this process would say nothing about the command.
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
		byDefault(r.Signal, func() {
			if r.ToGroup {
				_ = unix.Kill(0, r.Signal)
			}
			_ = unix.Kill(unix.Getpid(), r.Signal)
		})
	}
	return r.Status
}
