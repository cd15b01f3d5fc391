//go:build linux

package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/sandbox"
)

func TestParse(t *testing.T) {
	tests := []struct {
		args string
		want request
	}{
		{"true", request{options: sandbox.Options{Command: []string{"true"}}}},
		{"ls --git -l", request{options: sandbox.Options{Command: []string{"ls", "--git", "-l"}}}},
		{"-- -odd --print", request{options: sandbox.Options{Command: []string{"-odd", "--print"}}}},
		{"- x", request{options: sandbox.Options{Command: []string{"-", "x"}}}},
		{"--private-tmp --allow-userns ls", request{options: sandbox.Options{Command: []string{"ls"}, PrivateTmp: true, AllowUserns: true}}},
		{"--env A --env=B ls", request{options: sandbox.Options{Command: []string{"ls"}, KeepEnv: []string{"A", "B"}}}},
		{"--git git log", request{options: sandbox.Options{Command: []string{"git", "log"}, Git: true}}},
		{"--print ls", request{mode: modePrint, options: sandbox.Options{Command: []string{"ls"}}}},
		{"--print=json ls", request{mode: modePrintJSON, options: sandbox.Options{Command: []string{"ls"}}}},
		{"--print", request{mode: modePrint}},
		{"--doctor --json", request{mode: modeDoctor, json: true}},
		{"--fix --doctor", request{mode: modeDoctor, fix: true}},
		{"--version", request{mode: modeVersion}},
		{"-h", request{mode: modeHelp}},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			got, err := parse(strings.Fields(tt.args))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.options.Command) == 0 {
				got.options.Command = nil
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(request{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := [][]string{
		{}, {"--"}, {"--private-tmp"}, {"-x", "ls"}, {"--unknown", "ls"}, {"--print=yaml", "ls"}, {"--gi", "git"},
		{"--env"}, {"--env", "", "ls"}, {"--env=", "ls"}, {"--env", "A=1", "ls"}, {"--env", "A\x00", "ls"},
		{"--git", "ls"}, {"--git", "/usr/bin/git", "log"}, {"--git", "--", "sh"},
		{"--json", "ls"}, {"--fix", "ls"}, {"--print", "--json", "ls"}, {"--doctor", "ls"},
	}
	for _, args := range tests {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			_, err := parse(args)
			var usage *sandbox.UsageError
			if !errors.As(err, &usage) {
				t.Fatalf("parse(%q): error %v, want a usage error", args, err)
			}
			var said strings.Builder
			if status := run(args, nil, io.Discard, &said); status != sandbox.StatusUsage {
				t.Errorf("status %d, want %d", status, sandbox.StatusUsage)
			}
			if s := said.String(); !strings.HasPrefix(s, "sbox: ") || strings.Count(s, "\n") != 1 {
				t.Errorf("said %q, want one line", s)
			}
		})
	}
}
