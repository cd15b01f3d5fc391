// Package claude is what claude-box knows of Claude Code and nothing of the
// engine.
package claude

import (
	"path"

	"github.com/agent-cage/agent-cage/images"
	"github.com/agent-cage/agent-cage/libcage/payload"
	"github.com/agent-cage/agent-cage/payloads/pinned"
)

// configDir is Claude Code's directory below the home of the harness. With
// CLAUDE_CONFIG_DIR set to it, .claude.json lies in it too, so one mount holds
// all that the client keeps.
const configDir = ".claude"

// Payload describes Claude Code. The error is that of a broken build of this
// program.
func Payload() (*payload.Payload, error) {
	image, err := pinned.Image(images.Claude)
	if err != nil {
		return nil, err
	}
	return &payload.Payload{
		Label:  "claude-box",
		Prefix: "CLAUDE_BOX",
		Title:  "Claude Code",
		Image:  image,
		// The box is the wall, so the client's own prompts are off.
		Command: []string{"claude", "--dangerously-skip-permissions"},
		Env: func(s payload.Session) map[string]string {
			return map[string]string{
				"CLAUDE_CONFIG_DIR":   path.Join(s.Home, configDir),
				"DISABLE_AUTOUPDATER": "1", // the image pins the version
			}
		},
		Forward:     []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"},
		State:       payload.State{Host: ".claude-box/state", Box: configDir, Seed: seed},
		DirArgument: true,
	}, nil
}
