package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

// People prints a plan for people: what, and why.
func People(w io.Writer, p *plan.Plan) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(what, value, why string) {
		if value == "" {
			return
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", what, printable(value), why)
	}
	row("box", p.Name, "")
	row("name file", p.NameFile, "--name-file")
	row("image", p.Image.Ref, p.Image.Reason)
	row("engine", postureText(p.Posture), strings.Join(p.Posture.Reasons, "; "))
	row("project", p.Project.Dir, p.Project.Reason)
	row("user", fmt.Sprintf("%s %d:%d", p.User.Name, p.User.UID, p.User.GID), p.User.Reason)
	row("command", quoted(p.Command.Argv), p.Command.Reason)
	row("terminal", connection(p.Terminal), "")
	for _, m := range p.Mounts {
		row("mount", mountText(m), m.Reason)
	}
	for _, v := range p.Volumes {
		row("volume", volumeText(v), v.Reason)
	}
	for _, d := range p.Devices {
		row("device", d.Path, d.Reason)
	}
	for _, g := range p.GPUs {
		row("gpu", gpuText(g), g.Reason)
	}
	for _, m := range p.Tmpfs {
		row("memory", m.Target, m.Reason)
	}
	for _, e := range p.Env {
		row("variable", e.Name, e.Reason)
	}
	for _, c := range p.Security.CapAdd {
		row("capability", c.Name, c.Reason)
	}
	row("seccomp", p.Security.SeccompName, "")
	if p.Security.UnmaskProc {
		row("proc", "unmasked", "else containers inside cannot mount their own")
	}
	if p.Security.Privileged {
		row("privileged", "yes", "nothing walls the box off from the engine's host")
	}
	row("runtime", p.Security.Runtime, "")
	row("apparmor", p.Security.AppArmor, p.Security.AppArmorReason)
	row("network", p.Network.Mode, p.Network.Reason)
	row("memory limit", number(p.Limits.MemoryBytes), "bytes")
	row("cpu limit", number(p.Limits.NanoCPUs), "1e-9 CPUs")
	if p.Limits.Timeout > 0 {
		row("time limit", p.Limits.Timeout.String(), "from the box's start")
	}
	row("process limit", number(p.Limits.PidsLimit), "")
	return t.Flush()
}

func mountText(m plan.Mount) string {
	text := m.Source
	if m.Target != m.Source {
		text += " → " + m.Target
	}
	if m.ReadOnly {
		text += " (read-only)"
	}
	return text
}

func postureText(p plan.Posture) string {
	text := string(p.Mode)
	if p.Rung != "" {
		text += ", rung " + string(p.Rung)
	}
	if p.Start != "" {
		text += ", " + string(p.Start)
	}
	return text
}

func gpuText(g plan.GPU) string {
	switch {
	case len(g.IDs) > 0:
		return strings.Join(g.IDs, ", ")
	case g.Count < 0:
		return "all"
	}
	return strconv.Itoa(g.Count)
}

func volumeText(v plan.Volume) string {
	return cmp.Or(v.Name, "the box's alone") + " → " + v.Target
}

func connection(t plan.Terminal) string {
	switch {
	case t.TTY:
		return "a terminal"
	case t.Stdin:
		return "streams"
	}
	return "streams, without input"
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// quoted returns a command with the quotes that a shell needs.
func quoted(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = a
		if a == "" || strings.ContainsFunc(a, func(r rune) bool { return !plain(r) }) {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		slices.Contains([]rune("-_./:=@%+,"), r)
}

// printable shows control characters, which a path or a prompt may hold, by
// their names.
func printable(s string) string {
	if q := strconv.Quote(s); strings.Contains(q, `\`) && strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return q
	}
	return s
}
