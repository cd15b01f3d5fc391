package gate

import "github.com/agent-cage/agent-cage/policy/strictjson"

// harness is one agent's hook protocol.
type harness struct {
	name string
	// adapt replaces what the harness cannot do by what it can.
	adapt func(decision) decision
	// encode writes an adapted decision; nothing for a silent one.
	encode func(decision) []byte
}

var harnesses = map[string]*harness{
	"claude": {name: "claude", adapt: func(d decision) decision { return d }, encode: encode},
	"codex":  {name: "codex", adapt: codexCan, encode: encode},
}

// codexCan fits a decision to Codex, where what it does not understand makes
// the hook fail and the call run: it knows no question, takes a bare allow for
// an error, and a denial must not carry an input.
func codexCan(d decision) decision {
	switch {
	case d.action == actAsk:
		d.action, d.input = actDeny, nil
		d.reason += " A human can run it, or allow it in the settings of cage-gate"
	case d.action == actDeny:
		d.input = nil
	case d.action == actAllow && d.input == nil:
		d.action = actSilent
	}
	return d
}

// encode writes the answer that both harnesses read.
func encode(d decision) []byte {
	if d.action == actSilent {
		return nil
	}
	str := func(s string) strictjson.Value { return strictjson.Value{Kind: strictjson.String, Text: s} }
	out := strictjson.Value{Kind: strictjson.Object, Members: []strictjson.Member{
		{Key: "hookEventName", Value: str("PreToolUse")},
		{Key: "permissionDecision", Value: str(string(d.action))},
		{Key: "permissionDecisionReason", Value: str(oneLine(d.reason))},
	}}
	if d.input != nil && d.action == actAllow {
		out.Members = append(out.Members, strictjson.Member{Key: "updatedInput", Value: *d.input})
	}
	top := strictjson.Value{Kind: strictjson.Object, Members: []strictjson.Member{
		{Key: "hookSpecificOutput", Value: out},
	}}
	return append(strictjson.Append(nil, top), '\n')
}
