// Package codex is what codex-box knows of the Codex CLI and nothing of the
// engine.
package codex

import (
	"path"

	"github.com/agent-cage/agent-cage/images"
	"github.com/agent-cage/agent-cage/libcage/payload"
	"github.com/agent-cage/agent-cage/payloads/pinned"
)

// configDir is Codex's directory below the home of the harness.
const configDir = ".codex"

// Payload describes the Codex CLI. The error is that of a broken build of
// this program.
func Payload() (*payload.Payload, error) {
	image, err := pinned.Image(images.Codex)
	if err != nil {
		return nil, err
	}
	return &payload.Payload{
		Label:  "codex-box",
		Prefix: "CODEX_BOX",
		Title:  "Codex",
		Image:  image,
		Command: []string{
			"codex",
			// The box is the wall, so the client's own prompts and sandbox are off.
			"--dangerously-bypass-approvals-and-sandbox",
			// There is no keyring in the box.
			"-c", `mcp_oauth_credentials_store="file"`,
		},
		Env:     env,
		Forward: []string{"OPENAI_API_KEY", "CODEX_API_KEY"},
		State:   payload.State{Host: ".codex-box/state", Box: configDir, Seed: seed},
	}, nil
}

func env(s payload.Session) map[string]string {
	vars := map[string]string{"CODEX_HOME": path.Join(s.Home, configDir)}
	if key := apiKey(s); key != "" {
		vars["CODEX_API_KEY"] = key
	}
	return vars
}
