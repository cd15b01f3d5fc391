//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAppArmorProfile(t *testing.T) {
	tests := []struct {
		name   string
		abis   []string
		abi    string
		userns bool
	}{
		{"3.0 knows no rule for user namespaces", []string{"3.0"}, "3.0", false},
		{"4.0", []string{"3.0", "4.0"}, "4.0", true},
		{"the newest", []string{"3.0", "4.0", "5.0"}, "5.0", true},
		{"none listed", nil, "3.0", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, abi := range tt.abis {
				if err := os.WriteFile(filepath.Join(dir, abi), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := AppArmorProfile("/usr/local/bin/sbox", dir)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(got, "abi <abi/"+tt.abi+">,\n") {
				t.Errorf("another ABI:\n%s", got)
			}
			if strings.Contains(got, "\n  userns,\n") != tt.userns {
				t.Errorf("userns, want %v:\n%s", tt.userns, got)
			}
			// It attaches to this program and to nothing else.
			if n := strings.Count(got, "\nprofile "); n != 1 || !strings.Contains(got, `profile agent-cage-sbox "/usr/local/bin/sbox" flags=(unconfined) {`) {
				t.Errorf("%d profiles:\n%s", n, got)
			}
		})
	}
}

func TestAppArmorProfileRefusesPatterns(t *testing.T) {
	for _, exe := range []string{
		"", "sbox", "bin/sbox", "/opt/*/sbox", "/opt/sbox?", "/opt/{a,b}/sbox", "/opt/[ab]/sbox", `/opt/"/sbox`, "/opt/@{HOME}/sbox", "/opt/a\n/sbox", "/opt/^/sbox",
	} {
		if got, err := AppArmorProfile(exe, t.TempDir()); err == nil {
			t.Errorf("%q is named:\n%s", exe, got)
		}
	}
}

func TestRootOwned(t *testing.T) {
	if err := rootOwned("/usr/bin/env"); err != nil {
		t.Errorf("a system program: %v", err)
	}
	if err := rootOwned("/usr/bin/nonesuch"); err == nil {
		t.Error("a missing program is root's")
	}
	// Whoever runs this, one of the two makes it another's to change.
	p := filepath.Join(t.TempDir(), "sbox")
	if err := os.WriteFile(p, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := rootOwned(p); err == nil {
		t.Error("a program that everybody can write is root's")
	}
}
