// Package skills holds what agents are told about the gate.
package skills

import _ "embed"

// AgentCage is the skill file of cage-gate.
//
//go:embed agent-cage/SKILL.md
var AgentCage []byte
