// Package install edits the settings of harnesses as text: it adds and removes
// the gate's hook by the structure of a file, and leaves the rest as it is.
package install

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/agent-cage/agent-cage/policy/strictjson"
)

// timeout is how long a harness waits for the hook, in seconds; more than the
// hook's own deadline.
const timeout = 20

// HookCommand is the registered command of a harness: the program's own death
// has to block too. program is an absolute path without single quotes.
func HookCommand(program, harness string) string {
	return "'" + program + "' hook " + harness + " || { echo 'cage-gate: failed' >&2; exit 2; }"
}

// IsHook reports whether a command is the gate's hook of a harness, wherever
// its program lies.
func IsHook(command, harness string) bool {
	_, program, ok := strings.Cut(command, "'")
	program, _, ok2 := strings.Cut(program, "'")
	return ok && ok2 && strings.HasSuffix(program, "/cage-gate") && command == HookCommand(program, harness)
}

// Claude adds the hook to Claude Code's settings, in place of one that calls
// another program. An empty text is one without settings.
func Claude(text, command string) (string, error) {
	if strings.TrimSpace(text) == "" {
		text = "{}\n"
	}
	if has, err := ClaudeCommands(text); err != nil {
		return "", err
	} else if len(has) == 1 && has[0] == command {
		return text, nil
	}
	text, err := ClaudeRemove(text)
	if err != nil {
		return "", err
	}
	root, err := locate(text)
	if err != nil {
		return "", err
	}
	entry := claudeEntry(command)
	list := array(entry)
	hooks := root.get("hooks")
	if hooks == nil {
		return add(text, root, "hooks", object("PreToolUse", list)), nil
	}
	if hooks.value.Kind != strictjson.Object {
		return "", errors.New("hooks is not an object")
	}
	pre := hooks.get("PreToolUse")
	if pre == nil {
		return add(text, *hooks, "PreToolUse", list), nil
	}
	if pre.value.Kind != strictjson.Array {
		return "", errors.New("hooks.PreToolUse is not an array")
	}
	return add(text, *pre, "", entry), nil
}

func claudeEntry(command string) strictjson.Value {
	hook := object("type", str("command"), "command", str(command),
		"timeout", strictjson.Value{Kind: strictjson.Number, Text: strconv.Itoa(timeout)})
	return object("matcher", str("*"), "hooks", array(hook))
}

// ClaudeCommands returns the gate's hooks that are registered.
func ClaudeCommands(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	root, err := locate(text)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, entry := range root.value.Get("hooks").Get("PreToolUse").Items {
		for _, h := range entry.Get("hooks").Items {
			if c := h.Get("command").Text; IsHook(c, "claude") && entry.Get("matcher").Text == "*" {
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// ClaudeRemove takes the gate's hooks out, and what becomes empty by it.
func ClaudeRemove(text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return text, nil
	}
	for {
		root, err := locate(text)
		if err != nil {
			return "", err
		}
		next := removeOne(text, root)
		if next == text {
			return text, nil
		}
		text = next
	}
}

func removeOne(text string, root node) string {
	hooks := root.get("hooks")
	if hooks == nil {
		return text
	}
	pre := hooks.get("PreToolUse")
	if pre == nil {
		return text
	}
	for i := range pre.items {
		list := pre.items[i].get("hooks")
		if list == nil {
			continue
		}
		for j := range list.items {
			if !IsHook(list.items[j].value.Get("command").Text, "claude") {
				continue
			}
			switch {
			case len(list.items) > 1:
				return remove(text, *list, j)
			case len(pre.items) > 1:
				return remove(text, *pre, i)
			case len(hooks.members) > 1:
				return remove(text, *hooks, indexOf(*hooks, "PreToolUse"))
			}
			return remove(text, root, indexOf(root, "hooks"))
		}
	}
	return text
}

func indexOf(n node, key string) int {
	for i, m := range n.members {
		if m.key == key {
			return i
		}
	}
	return -1
}

// The lines around what is added to Codex's requirements.
const (
	tomlBegin = "# cage-gate: begin\n"
	tomlEnd   = "# cage-gate: end\n"
)

// Codex adds the hook to Codex's requirements.
func Codex(text, command string) (string, error) {
	if has, err := CodexCommands(text); err != nil {
		return "", err
	} else if len(has) == 1 && has[0] == command && strings.Contains(text, tomlBegin) {
		return text, nil
	}
	text, err := CodexRemove(text)
	if err != nil {
		return "", err
	}
	out := text
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	out += tomlBegin + fmt.Sprintf("[[hooks.PreToolUse]]\nmatcher = \".*\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = %s\ntimeout = %d\n",
		strictjson.AppendString(nil, command), timeout) + tomlEnd
	// Where hooks are written inline, tables cannot be added after them.
	if has, err := CodexCommands(out); err != nil {
		return "", fmt.Errorf("the hook cannot be added by a table at the end: %w", err)
	} else if len(has) != 1 || has[0] != command {
		return "", errors.New("another cage-gate hook is there; remove it by hand")
	}
	return out, nil
}

// CodexCommands returns the gate's hooks that are registered.
func CodexCommands(text string) ([]string, error) {
	var r struct {
		Hooks struct {
			PreToolUse []struct {
				Matcher string `toml:"matcher"`
				Hooks   []struct {
					Command string `toml:"command"`
				} `toml:"hooks"`
			}
		} `toml:"hooks"`
	}
	if err := toml.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("TOML: %w", err)
	}
	var out []string
	for _, e := range r.Hooks.PreToolUse {
		for _, h := range e.Hooks {
			if IsHook(h.Command, "codex") && e.Matcher == ".*" {
				out = append(out, h.Command)
			}
		}
	}
	return out, nil
}

// CodexRemove takes out what Codex added.
func CodexRemove(text string) (string, error) {
	before, rest, ok := strings.Cut(text, tomlBegin)
	if !ok {
		return text, nil
	}
	_, after, ok := strings.Cut(rest, tomlEnd)
	if !ok {
		return "", errors.New("the line that ends what cage-gate added is missing")
	}
	return before + after, nil
}

func str(s string) strictjson.Value { return strictjson.Value{Kind: strictjson.String, Text: s} }

func array(items ...strictjson.Value) strictjson.Value {
	return strictjson.Value{Kind: strictjson.Array, Items: items}
}

// object takes keys and values in turn.
func object(kv ...any) strictjson.Value {
	out := strictjson.Value{Kind: strictjson.Object}
	for i := 0; i+1 < len(kv); i += 2 {
		key, _ := kv[i].(string)
		value, _ := kv[i+1].(strictjson.Value)
		out.Members = append(out.Members, strictjson.Member{Key: key, Value: value})
	}
	return out
}
