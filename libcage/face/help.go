package face

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteHelp prints what a launcher takes.
func WriteHelp(w io.Writer, label, title string, g Grammar) error {
	dir := ""
	if g.DirArgument {
		dir = "[DIR] "
	}
	fmt.Fprintf(w, "%s runs %s in a box that holds one project directory.\n\n", label, title)
	fmt.Fprintf(w, "Usage: %s %s[FLAGS] [--] [HARNESS ARGUMENTS]\n\nFlags, taken out wherever they stand before --:\n", label, dir)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range flags {
		value := " " + f.value
		if f.optional {
			value = "[=" + f.value + "]"
		}
		fmt.Fprintf(t, "  %s%s\t%s\n", f.name, value, f.help)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, `
Variables:
  %[1]s_EXEC=1         the same as --exec
  %[1]s_DEBUG=1        say on stderr what is done, and how long it takes
  %[1]s_ENGINE_MODE    the same as --engine
  %[1]s_EXTRA_VARS     further variables to forward, apart by blanks or commas
  %[1]s_EXTRA_MOUNTS   further mounts, source:target or source:target:ro, one a line
`, g.Prefix)
	return err
}
