package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/lifecycle"
	"github.com/agent-cage/agent-cage/libcage/receipt"
)

// Collector is what collecting garbage needs of an engine.
type Collector interface {
	lifecycle.VolumeLister
	RemoveVolume(ctx context.Context, name string) error
	DanglingImages(ctx context.Context, labels map[string]string) ([]engine.Image, error)
	RemoveImage(ctx context.Context, ref string) error
}

// GCOptions are those of cage gc.
type GCOptions struct {
	// Yes removes what is found.
	Yes bool
	// Age is how old receipts are that are removed.
	Age time.Duration
}

// NewCmdGC is cage gc.
func NewCmdGC(f *Factory, runF func(*GCOptions) error) *cobra.Command {
	opts := &GCOptions{}
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove what is of no use any more",
		Long: "Says what is of no use any more and how much it is: boxes without a launcher, volumes of projects\n" +
			"that are not there any more, images that newer builds have replaced, old receipts. Nothing is removed\n" +
			"without --yes.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.Age < 0 {
				return errors.New("gc: --receipts-older-than is below 0")
			}
			if runF != nil {
				return runF(opts)
			}
			return runGC(cmd.Context(), f, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.Yes, "yes", false, "remove it")
	cmd.Flags().DurationVar(&opts.Age, "receipts-older-than", receipt.DefaultAge, "how old receipts are that are of no use")
	return cmd
}

// garbage is what there is to be removed.
type garbage struct {
	boxes    []lifecycle.Box
	volumes  []lifecycle.Volume
	images   []engine.Image
	receipts []receipt.Entry
}

func runGC(ctx context.Context, f *Factory, opts *GCOptions) error {
	return f.withBoxes(ctx, func(eng Engine, boxes []lifecycle.Box) error {
		g := garbage{boxes: lifecycle.Orphans(boxes)}
		host, err := f.Host()
		if err != nil {
			return err
		}
		if g.volumes, err = lifecycle.OrphanVolumes(ctx, eng, host, isThere); err != nil {
			return err
		}
		if g.images, err = eng.DanglingImages(ctx, map[string]string{lifecycle.LabelKind: lifecycle.KindBuild}); err != nil {
			return err
		}
		now := f.Now()
		if g.receipts, err = f.receipts().Old(now.Add(-opts.Age), now); err != nil {
			return err
		}
		if opts.Yes {
			return g.remove(ctx, f, eng)
		}
		g.list(f)
		return nil
	})
}

func (g *garbage) list(f *Factory) {
	for _, b := range g.boxes {
		fmt.Fprintf(f.Stdout, "box      %s (%s, %s)\n", b.Name, b.State, printable(b.Project))
	}
	for _, v := range g.volumes {
		fmt.Fprintf(f.Stdout, "volume   %s (%s, %s is gone)\n", v.Name, v.Kind, cmp.Or(printable(v.Project), "its project"))
	}
	for _, i := range g.images {
		fmt.Fprintf(f.Stdout, "image    %s (%s, %s)\n", short(i.ID), size(i.SizeBytes), i.Created.UTC().Format(time.DateOnly))
	}
	for _, r := range g.receipts {
		fmt.Fprintf(f.Stdout, "receipt  %s (%s)\n", r.ID, size(r.Bytes))
	}
	g.sum(f, "would be removed: ")
	if len(g.boxes)+len(g.volumes)+len(g.images)+len(g.receipts) > 0 {
		fmt.Fprintln(f.Stdout, "cage gc --yes removes them")
	}
}

// sum says how much it is. Images share layers, so their sizes are a bound.
func (g *garbage) sum(f *Factory, what string) {
	var images, receipts int64
	for _, i := range g.images {
		images += i.SizeBytes
	}
	for _, r := range g.receipts {
		receipts += r.Bytes
	}
	fmt.Fprintf(f.Stdout, "%s%s, %s, %s (%s at most), %s (%s)\n", what, count(len(g.boxes), "box", "boxes"),
		count(len(g.volumes), "volume", "volumes"),
		count(len(g.images), "image", "images"), size(images),
		count(len(g.receipts), "receipt", "receipts"), size(receipts))
}

// remove removes what it can and says so; what it cannot is an error.
func (g *garbage) remove(ctx context.Context, f *Factory, eng Engine) error {
	var failed []error
	var done garbage
	var err error
	done.boxes, err = lifecycle.RemoveAll(ctx, eng, g.boxes)
	failed = append(failed, err)
	for _, v := range g.volumes {
		err := eng.RemoveVolume(ctx, v.Name)
		switch {
		case err == nil:
			done.volumes = append(done.volumes, v)
		case errors.Is(err, engine.ErrConflict):
			fmt.Fprintf(f.Stdout, "kept: volume %s is in use\n", v.Name)
		default:
			failed = append(failed, fmt.Errorf("volume %s: %w", v.Name, err))
		}
	}
	for _, i := range g.images {
		err := eng.RemoveImage(ctx, i.ID)
		switch {
		case err == nil:
			done.images = append(done.images, i)
		case errors.Is(err, engine.ErrConflict):
			fmt.Fprintf(f.Stdout, "kept: image %s is in use\n", short(i.ID))
		default:
			failed = append(failed, fmt.Errorf("image %s: %w", short(i.ID), err))
		}
	}
	if err := f.receipts().Remove(g.receipts); err != nil {
		failed = append(failed, err)
	} else {
		done.receipts = g.receipts
	}
	done.sum(f, "removed: ")
	return errors.Join(failed...)
}

// isThere is also what cannot be told.
func isThere(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func size(bytes int64) string { return units.HumanSize(float64(bytes)) }

// short is an image's ID as docker shows it.
func short(id string) string {
	const prefix, digits = "sha256:", 12
	if len(id) >= len(prefix)+digits {
		return id[len(prefix) : len(prefix)+digits]
	}
	return id
}
