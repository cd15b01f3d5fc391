package admin

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agent-cage/agent-cage/libcage/doctor"
)

// DoctorOptions are those of cage doctor.
type DoctorOptions struct{ JSON bool }

// NewCmdDoctor is cage doctor.
func NewCmdDoctor(f *Factory, runF func(*DoctorOptions) error) *cobra.Command {
	opts := &DoctorOptions{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look this machine over for what boxes need",
		Long: "Looks this machine and its engine over and changes nothing. Each finding has a code that stays\n" +
			"the same. The status is 1 if there is a problem, which is what no box starts with.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(opts)
			}
			return runDoctor(cmd.Context(), f, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.JSON, "json", false, "print a JSON array")
	return cmd
}

func runDoctor(ctx context.Context, f *Factory, opts *DoctorOptions) error {
	findings := doctor.Examine(ctx, patient(f))
	write := writeFindings
	if opts.JSON {
		write = func(w io.Writer, findings []doctor.Finding) error { return writeJSON(w, findings) }
	}
	if err := write(f.Stdout, findings); err != nil {
		return err
	}
	if doctor.Broken(findings) {
		return &StatusError{Status: 1}
	}
	return nil
}

func patient(f *Factory) *doctor.Patient {
	dir, err := os.Getwd()
	if err != nil {
		dir = f.Home
	}
	p := &doctor.Patient{
		Getenv: f.Getenv, Home: f.Home, Dir: dir, Executable: f.Executable,
		Harnesses: f.Harnesses, Machine: f.Machine, Now: f.Now,
		Open: func(ctx context.Context) (doctor.Engine, error) { return f.Engine(ctx) },
	}
	p.Host, p.HostErr = f.Host()
	return p
}

func writeFindings(w io.Writer, findings []doctor.Finding) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, x := range findings {
		fmt.Fprintf(t, "%s\t%s\t%s\n", x.Severity, x.Code, printable(x.Text))
		if x.Fix != "" {
			fmt.Fprintf(t, "\t\tfix: %s\n", printable(x.Fix))
		}
	}
	return t.Flush()
}
