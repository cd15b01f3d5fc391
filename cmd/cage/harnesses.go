package main

import (
	"path"

	"github.com/agent-cage/agent-cage/libcage/doctor"
	"github.com/agent-cage/agent-cage/libcage/payload"
	"github.com/agent-cage/agent-cage/payloads/claude"
	"github.com/agent-cage/agent-cage/payloads/codex"
)

// harnesses are those that there are launchers for.
func harnesses() ([]doctor.Harness, error) {
	claudeCode, err := claude.Payload()
	if err != nil {
		return nil, err
	}
	codexCLI, err := codex.Payload()
	if err != nil {
		return nil, err
	}
	return []doctor.Harness{
		harness(claudeCode, ".credentials.json"),
		harness(codexCLI, "auth.json"),
	}, nil
}

// harness says what a doctor must know of one; login is the file in its state
// directory that it keeps its login in.
func harness(p *payload.Payload, login string) doctor.Harness {
	return doctor.Harness{
		Label: p.Label, Image: p.Image.Name,
		LoginFiles: []string{path.Join(p.State.Host, login)},
		LoginVars:  p.Forward,
	}
}
