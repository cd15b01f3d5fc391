package scriptedapi

import (
	"encoding/json"
	"net/http"
	"strings"
)

type messagesBody struct {
	Model     string  `json:"model"`
	Stream    bool    `json:"stream"`
	MaxTokens int     `json:"max_tokens"`
	System    content `json:"system"`
	Tools     []struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tools"`
	Messages []struct {
		Role    string  `json:"role"`
		Content content `json:"content"`
	} `json:"messages"`
	OutputConfig struct {
		Format struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
	Metadata struct {
		UserID string `json:"user_id"`
	} `json:"metadata"`
}

// auxiliaryOpenings begin the last prompt of requests that Claude Code makes
// with its main conversation's history, system prompt and tools, but beside it.
var auxiliaryOpenings = []string{"[SUGGESTION MODE"}

func parseMessages(header http.Header, data []byte) (*request, error) {
	var body messagesBody
	if err := json.Unmarshal(data, &body); err != nil {
		return nil, err
	}
	r := &request{api: Messages, stream: body.Stream, model: body.Model, system: body.System.text()}
	for _, tool := range body.Tools {
		r.tools = append(r.tools, tool.Name)
	}
	for _, message := range body.Messages {
		switch message.Role {
		case "assistant":
			r.addAnswer()
		case "system":
			r.system += "\n" + message.Content.text()
		default:
			r.addUserParts(message.Content)
		}
	}
	r.cwd = between(r.system, "Primary working directory: ", "\n")
	r.key = messagesKey(header, &body, r.first)
	r.schema = body.OutputConfig.Format.Schema
	r.auxiliary = messagesAuxiliary(&body, r.prompt)
	return r, nil
}

func (r *request) addUserParts(parts content) {
	for _, p := range parts {
		switch p.Type {
		case "text":
			r.addPrompt(p.Text)
		case "tool_result":
			r.results = append(r.results, Result{ID: p.ToolUseID, Text: p.Content.text(), Error: p.IsError})
		}
	}
}

// messagesKey tells conversations apart. A subagent has its parent's session
// and an id of its own. A client that sends no session is known by how its
// conversation began.
func messagesKey(header http.Header, body *messagesBody, first string) string {
	if session := header.Get("X-Claude-Code-Session-Id"); session != "" {
		return session + "\x00" + header.Get("X-Claude-Code-Agent-Id")
	}
	return body.Metadata.UserID + "\x00" + first
}

func messagesAuxiliary(body *messagesBody, prompt string) string {
	switch {
	case body.MaxTokens == 1:
		return "asks for one token"
	case !offersClientTool(body):
		return "offers no tool of the client's"
	case hasOpening(prompt, auxiliaryOpenings):
		return "prompt is the client's own"
	}
	return ""
}

// offersClientTool is false also for a web search: its one tool is the
// server's, and has a dated type.
func offersClientTool(body *messagesBody) bool {
	for _, tool := range body.Tools {
		if tool.Type == "" || strings.EqualFold(tool.Type, "custom") {
			return true
		}
	}
	return false
}
