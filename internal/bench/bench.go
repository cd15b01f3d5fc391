// Package bench compares the wall-clock times of whole programs. What is
// compared runs in turn, so that a change of the machine's load meets all.
package bench

import (
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Contender is one way to do the thing that is compared.
type Contender struct {
	Name string
	// Cmd returns a fresh command for each run; its ExtraFiles are closed
	// afterwards.
	Cmd func() (*exec.Cmd, error)

	times []time.Duration
}

// Run runs all contenders rounds times, after one time that does not count: it
// fills caches. Who is first changes with the round. It stops at the first
// command that fails; the error has what that wrote to its stderr.
func Run(rounds int, all []*Contender) error {
	for round := range rounds + 1 {
		for i := range all {
			c := all[(i+round)%len(all)]
			took, err := once(c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
			if round > 0 {
				c.times = append(c.times, took)
			}
		}
	}
	for _, c := range all {
		slices.Sort(c.times)
	}
	return nil
}

func once(c *Contender) (time.Duration, error) {
	cmd, err := c.Cmd()
	if err != nil {
		return 0, err
	}
	var said strings.Builder
	cmd.Stderr = &said
	start := time.Now()
	err = cmd.Run()
	took := time.Since(start)
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return took, nil
}

// quantile is the time that the share q of the runs stayed below.
func (c *Contender) quantile(q float64) time.Duration {
	return c.times[min(int(q*float64(len(c.times))), len(c.times)-1)]
}

// Ratio is the contender's median as a multiple of base's.
func (c *Contender) Ratio(base *Contender) float64 {
	return float64(c.quantile(0.5)) / float64(base.quantile(0.5))
}

// Report prints the least time, the median, the middle half of the runs, and
// each median as a multiple of the first contender's.
func Report(w io.Writer, all []*Contender) {
	for _, c := range all {
		fmt.Fprintf(w, "%-12s least %7.2f ms, median %7.2f ms, middle half %7.2f to %7.2f ms, %5.3f × %s\n",
			c.Name, ms(c.times[0]), ms(c.quantile(0.5)), ms(c.quantile(0.25)), ms(c.quantile(0.75)), c.Ratio(all[0]), all[0].Name)
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
