package admin

import (
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"github.com/agent-cage/agent-cage/libcage/receipt"
)

// NewCmdReceipts is cage receipts.
func NewCmdReceipts(f *Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "receipts",
		Short: "Look at the records of your runs",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		NewCmdReceiptsList(f, nil),
		NewCmdReceiptsShow(f, nil),
		NewCmdReceiptsPrune(f, nil),
	)
	return cmd
}

// ReceiptsListOptions are those of cage receipts list.
type ReceiptsListOptions struct {
	JSON bool
	// Limit is how many are listed; 0 is all.
	Limit int
}

// NewCmdReceiptsList is cage receipts list.
func NewCmdReceiptsList(f *Factory, runF func(*ReceiptsListOptions) error) *cobra.Command {
	opts := &ReceiptsListOptions{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List runs, newest first",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if opts.Limit < 0 {
				return errors.New("receipts list: --limit is below 0")
			}
			if runF != nil {
				return runF(opts)
			}
			return runReceiptsList(f, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.JSON, "json", false, "print a JSON array of whole receipts")
	cmd.Flags().IntVar(&opts.Limit, "limit", 20, "how many; 0 is all")
	return cmd
}

func runReceiptsList(f *Factory, opts *ReceiptsListOptions) error {
	entries, err := f.receipts().List()
	if err != nil {
		return err
	}
	if opts.Limit > 0 {
		entries = entries[:min(opts.Limit, len(entries))]
	}
	receipts := []*receipt.Receipt{}
	for _, e := range entries {
		r, err := e.Read()
		if err != nil {
			fmt.Fprintln(f.Stderr, "cage: skipped:", err)
			continue
		}
		receipts = append(receipts, r)
	}
	if opts.JSON {
		return writeJSON(f.Stdout, receipts)
	}
	t := tabwriter.NewWriter(f.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RECEIPT\tSTARTED\tTOOK\tSTATUS\tPROJECT")
	for _, r := range receipts {
		fmt.Fprintf(t, "%s\t%s\t%v\t%s\t%s\n", printable(r.ID), r.Started.Local().Format(time.DateTime),
			r.Ended.Sub(r.Started).Round(10*time.Millisecond), outcome(r.Exit), project(r))
	}
	return t.Flush()
}

func outcome(e receipt.Exit) string {
	text := strconv.Itoa(e.Status)
	if e.Fault != nil {
		text += " " + printable(e.Fault.Kind)
	}
	return text
}

func project(r *receipt.Receipt) string {
	if r.Plan == nil {
		return "-"
	}
	return printable(r.Plan.Project.Dir)
}

// ReceiptsShowOptions are those of cage receipts show.
type ReceiptsShowOptions struct{ ID string }

// NewCmdReceiptsShow is cage receipts show.
func NewCmdReceiptsShow(f *Factory, runF func(*ReceiptsShowOptions) error) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Print the record of a run",
		Long: "Prints a receipt as it was written. ID may be its beginning, or the name of the box, of\n" +
			"which the last run is meant.",
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			entries, err := f.receipts().List()
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			var ids []string
			for _, e := range entries {
				ids = append(ids, e.ID)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		},
		RunE: func(_ *cobra.Command, args []string) error {
			opts := &ReceiptsShowOptions{ID: args[0]}
			if runF != nil {
				return runF(opts)
			}
			return runReceiptsShow(f, opts)
		},
	}
}

func runReceiptsShow(f *Factory, opts *ReceiptsShowOptions) error {
	entry, err := f.receipts().Find(opts.ID)
	if err != nil {
		return err
	}
	text, err := entry.Text()
	if err != nil {
		return err
	}
	_, err = f.Stdout.Write(text)
	return err
}

// ReceiptsPruneOptions are those of cage receipts prune.
type ReceiptsPruneOptions struct{ Age time.Duration }

// NewCmdReceiptsPrune is cage receipts prune.
func NewCmdReceiptsPrune(f *Factory, runF func(*ReceiptsPruneOptions) error) *cobra.Command {
	opts := &ReceiptsPruneOptions{}
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove old records",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if opts.Age < 0 {
				return errors.New("receipts prune: --older-than is below 0")
			}
			if runF != nil {
				return runF(opts)
			}
			return runReceiptsPrune(f, opts)
		},
	}
	cmd.Flags().DurationVar(&opts.Age, "older-than", receipt.DefaultAge, "how old; 0 is all")
	return cmd
}

func runReceiptsPrune(f *Factory, opts *ReceiptsPruneOptions) error {
	now := f.Now()
	store := f.receipts()
	old, err := store.Old(now.Add(-opts.Age), now)
	if err != nil {
		return err
	}
	if err := store.Remove(old); err != nil {
		return err
	}
	var bytes int64
	for _, e := range old {
		bytes += e.Bytes
	}
	fmt.Fprintf(f.Stdout, "removed: %s (%s)\n", count(len(old), "receipt", "receipts"), units.HumanSize(float64(bytes)))
	return nil
}
