package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"github.com/agent-cage/agent-cage/libcage/lifecycle"
)

// PsOptions are those of cage ps.
type PsOptions struct{ JSON bool }

// NewCmdPs is cage ps.
func NewCmdPs(f *Factory, runF func(*PsOptions) error) *cobra.Command {
	opts := &PsOptions{}
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "List your boxes on this machine",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(opts)
			}
			return runPs(cmd.Context(), f, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.JSON, "json", false, "print a JSON array")
	return cmd
}

// boxLine is a box as cage ps --json prints it.
type boxLine struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	Project string `json:"project"`
	// Harness is the name of the launcher: claude-box.
	Harness string    `json:"harness"`
	Posture string    `json:"posture"`
	State   string    `json:"state"`
	Created time.Time `json:"created"`
	// AgeSeconds is the time since then.
	AgeSeconds  int64             `json:"ageSeconds"`
	LauncherPID int               `json:"launcherPid"`
	Launcher    lifecycle.Verdict `json:"launcher"`
}

func runPs(ctx context.Context, f *Factory, opts *PsOptions) error {
	return f.withBoxes(ctx, func(_ Engine, boxes []lifecycle.Box) error {
		lines := []boxLine{}
		for _, b := range boxes {
			if b.Kind != lifecycle.KindBox {
				continue
			}
			lines = append(lines, boxLine{
				Name: b.Name, ID: b.ID, Project: b.Project, Harness: b.Label, Posture: b.Posture,
				State: b.State, Created: b.Created.UTC(), AgeSeconds: int64(f.Now().Sub(b.Created).Seconds()),
				LauncherPID: b.Launcher.PID, Launcher: b.Verdict,
			})
		}
		if opts.JSON {
			return writeJSON(f.Stdout, lines)
		}
		return writeBoxes(f.Stdout, lines)
	})
}

func writeBoxes(w io.Writer, lines []boxLine) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "BOX\tPROJECT\tHARNESS\tPOSTURE\tSTATE\tAGE\tLAUNCHER")
	for _, l := range lines {
		age := units.HumanDuration(time.Duration(l.AgeSeconds) * time.Second)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s (pid %d)\n", l.Name, printable(l.Project), printable(l.Harness),
			cmp.Or(printable(l.Posture), "-"), l.State, age, l.Launcher, l.LauncherPID)
	}
	return t.Flush()
}

func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
