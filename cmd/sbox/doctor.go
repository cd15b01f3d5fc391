//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/agent-cage/agent-cage/sandbox"
)

// doctor says what works on this machine. Its status is 0 if everything does,
// 1 otherwise.
func doctor(r *request, environ []string, out io.Writer) (int, error) {
	if r.fix {
		m, err := sandbox.ReadMachine(environ)
		if err != nil {
			return 0, err
		}
		if err := sandbox.InstallAppArmorProfile(m); err != nil {
			return 0, err
		}
	}
	d := sandbox.Diagnose(environ)
	status := 0
	if !d.Healthy() {
		status = 1
	}
	if r.json {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return status, enc.Encode(d)
	}
	return status, printDiagnosis(d, out)
}

func printDiagnosis(d *sandbox.Diagnosis, out io.Writer) error {
	for _, c := range d.Checks {
		mark := "ok    "
		if !c.OK {
			mark = "NOT OK"
		}
		fmt.Fprintf(out, "%s  %-12s %s\n", mark, c.Check, c.Detail)
		if c.Fix != "" {
			fmt.Fprintf(out, "        %-12s fix: %s\n", "", c.Fix)
		}
	}
	fmt.Fprintln(out)
	for _, k := range slices.Sorted(maps.Keys(d.Facts)) {
		fmt.Fprintf(out, "%s = %s\n", k, d.Facts[k])
	}
	if d.AppArmorProfile != "" {
		fmt.Fprintf(out, "\nAppArmor profile (sbox --doctor --fix installs it):\n\n%s", d.AppArmorProfile)
	}
	return nil
}
