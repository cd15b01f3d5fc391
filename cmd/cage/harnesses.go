package main

import (
	"github.com/agent-cage/agent-cage/images"
	"github.com/agent-cage/agent-cage/libcage/doctor"
)

// harnesses are those that there are launchers for, and what each is logged
// in by.
func harnesses() []doctor.Harness {
	return []doctor.Harness{
		{
			Label: "claude-box", Image: images.Claude,
			LoginFiles: []string{".claude-box/state/.credentials.json"},
			LoginVars:  []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"},
		},
		{
			Label: "codex-box", Image: images.Codex,
			LoginFiles: []string{".codex-box/state/auth.json"},
			LoginVars:  []string{"OPENAI_API_KEY"},
		},
	}
}
