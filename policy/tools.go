package policy

import (
	"strings"

	"github.com/agent-cage/agent-cage/policy/strictjson"
)

// Checked are the versions of the harnesses whose tools the tables below were
// compared with.
var Checked = map[string]string{"Claude Code": "2.1.332", "Codex": "0.171.0"}

// readOnly are the tools that neither write nor run nor send anything. The
// harness's own rules apply to them.
var readOnly = map[string]bool{
	// Claude Code
	"Read": true, "Glob": true, "Grep": true, "TodoWrite": true, "TaskGet": true, "TaskList": true,
	"ToolSearch": true, "ListAgents": true, "AskUserQuestion": true, "ExitPlanMode": true, "EnterPlanMode": true,
	"CronList": true,
	// Claude Code before it; the name means the same wherever it is known
	"LS": true, "NotebookRead": true, "TodoRead": true, "BashOutput": true, "TaskOutput": true,
	// Codex
	"view_image": true, "get_goal": true, "update_plan": true, "request_user_input": true,
}

// kind is the type of an input's key.
type kind = strictjson.Kind

// shellKeys are the keys of a shell tool's input that do not change what the
// command means.
var shellKeys = map[string]kind{
	"command": strictjson.String, "description": strictjson.String,
	"timeout": strictjson.Number, "run_in_background": strictjson.Bool,
}

// fileTools are the tools that write one file: the key that names it, and all
// keys that are known.
var fileTools = map[string]struct {
	path string
	keys map[string]kind
}{
	"Write": {"file_path", map[string]kind{"file_path": strictjson.String, "content": strictjson.String}},
	"Edit": {"file_path", map[string]kind{
		"file_path": strictjson.String, "old_string": strictjson.String, "new_string": strictjson.String,
		"replace_all": strictjson.Bool}},
	"MultiEdit": {"file_path", map[string]kind{"file_path": strictjson.String, "edits": strictjson.Array}},
	"NotebookEdit": {"notebook_path", map[string]kind{
		"notebook_path": strictjson.String, "new_source": strictjson.String, "cell_id": strictjson.String,
		"cell_type": strictjson.String, "edit_mode": strictjson.String, "cell_number": strictjson.Number}},
}

// IsShell reports whether a tool runs the "command" of its input in a shell.
func IsShell(tool string) bool { return tool == "Bash" }

func (c *Classifier) classify(call Call, t *trace) Verdict {
	if readOnly[call.Tool] {
		t.pass("tool table")
		return Verdict{Class: Ungated, Code: CodeReadOnly}
	}
	if call.Input.Kind != strictjson.Object {
		return c.refuse(t, "input", CodeInput, "not an object")
	}
	if IsShell(call.Tool) {
		if f := t.ask("input", c.inputKeys(call.Input, shellKeys, "command")); f != nil {
			return f.verdict()
		}
		return c.shellCommand(call.Input.Get("command").Text, call.Cwd, t)
	}
	if call.Tool == patchTool {
		if f := t.ask("input", c.inputKeys(call.Input, patchKeys, "command")); f != nil {
			return f.verdict()
		}
		return c.patch(call.Input.Get("command").Text, call.Cwd, t)
	}
	if tool, ok := fileTools[call.Tool]; ok {
		if f := t.ask("input", c.inputKeys(call.Input, tool.keys, tool.path)); f != nil {
			return f.verdict()
		}
		return c.write(call.Input.Get(tool.path).Text, t)
	}
	if strings.HasPrefix(call.Tool, "mcp__") {
		for _, name := range c.w.MCPTools {
			if name == call.Tool {
				t.pass("MCP table")
				return Verdict{Class: Green, Code: CodeMCPAllowed}
			}
		}
		return c.refuse(t, "MCP table", CodeMCP, "")
	}
	return c.refuse(t, "tool table", CodeTool, "")
}

func (c *Classifier) refuse(t *trace, rule string, code Code, detail string) Verdict {
	f := &finding{code: code, detail: detail}
	t.fail(rule, f)
	return f.verdict()
}

// inputKeys objects to a key or type that is not known: it could change what
// the call means. need is the key that must be there.
func (c *Classifier) inputKeys(input strictjson.Value, known map[string]kind, need string) *finding {
	for _, m := range input.Members {
		if m.Key == "dangerouslyDisableSandbox" {
			if m.Value.Kind == strictjson.Bool && !m.Value.Bool {
				continue
			}
			if f := c.object(CodeUnsandboxed, Span{}, ""); f != nil {
				return f
			}
			continue
		}
		if k, ok := known[m.Key]; !ok || k != m.Value.Kind {
			if f := c.object(CodeInput, Span{}, Quote(m.Key)); f != nil {
				return f
			}
		}
	}
	if input.Get(need).Kind != strictjson.String {
		return &finding{code: CodeInput, detail: "no " + need}
	}
	return nil
}
