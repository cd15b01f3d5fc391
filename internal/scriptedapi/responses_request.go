package scriptedapi

import (
	"encoding/json"
	"net/http"
	"strings"
)

type responsesBody struct {
	Model        string          `json:"model"`
	Stream       bool            `json:"stream"`
	Instructions string          `json:"instructions"`
	Input        []responsesItem `json:"input"`
	Tools        []responsesTool `json:"tools"`
	Text         struct {
		Format struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"text"`
	PromptCacheKey string `json:"prompt_cache_key"`
}

type responsesItem struct {
	Type    string  `json:"type"`
	Role    string  `json:"role"`
	Content content `json:"content"`
	CallID  string  `json:"call_id"`
	Output  content `json:"output"`
	// Tools are those of an additional_tools item.
	Tools []responsesTool `json:"tools"`
}

type responsesTool struct {
	Type  string          `json:"type"`
	Name  string          `json:"name"`
	Tools []responsesTool `json:"tools"`
}

func parseResponses(header http.Header, data []byte) (*request, error) {
	var body responsesBody
	if err := json.Unmarshal(data, &body); err != nil {
		return nil, err
	}
	r := &request{api: Responses, stream: body.Stream, model: body.Model, system: body.Instructions}
	r.tools = responsesTools(body.Tools)
	for _, item := range body.Input {
		r.addItem(item)
	}
	r.key = header.Get("Thread-Id")
	if r.key == "" {
		r.key = body.PromptCacheKey
	}
	r.schema = body.Text.Format.Schema
	r.auxiliary = responsesAuxiliary(header, r.tools)
	return r, nil
}

func (r *request) addItem(item responsesItem) {
	switch {
	case item.Type == "additional_tools":
		r.tools = append(r.tools, responsesTools(item.Tools)...)
	case strings.HasSuffix(item.Type, "_call_output"):
		r.results = append(r.results, Result{ID: item.CallID, Text: item.Output.text()})
	case strings.HasSuffix(item.Type, "_call"), item.Role == "assistant":
		r.addAnswer()
	case item.Type == "agent_message":
		r.addAgentMessage(item.Content.text())
	case item.Role == "developer", item.Role == "system":
		r.system += "\n" + item.Content.text()
	case item.Role == "user":
		for _, p := range item.Content {
			if cwd := between(p.Text, "<cwd>", "</cwd>"); cwd != "" && isInjected(p.Text) {
				r.cwd = cwd
			}
			r.addPrompt(p.Text)
		}
	}
}

// addAgentMessage notes what another agent says. It is a subagent's first
// prompt; later it is a notice.
func (r *request) addAgentMessage(text string) {
	if r.first == "" {
		r.addPrompt(text)
		return
	}
	r.notice += text + "\n"
}

// responsesTools lists the tools' names; one in a namespace is listed as
// namespace.name, and one without a name of its own, such as web_search, by
// its type.
func responsesTools(tools []responsesTool) []string {
	var names []string
	for _, tool := range tools {
		switch {
		case tool.Type == "namespace":
			for _, inner := range responsesTools(tool.Tools) {
				names = append(names, tool.Name+"."+inner)
			}
		case tool.Name == "":
			names = append(names, tool.Type)
		default:
			names = append(names, tool.Name)
		}
	}
	return names
}

func responsesAuxiliary(header http.Header, tools []string) string {
	var turn struct {
		RequestKind  string `json:"request_kind"`
		ThreadSource string `json:"thread_source"`
	}
	// The header is Codex's own. Another client lacks it, which leaves the
	// fields empty and the request a turn.
	_ = json.Unmarshal([]byte(header.Get("X-Codex-Turn-Metadata")), &turn)
	switch {
	case turn.RequestKind != "" && turn.RequestKind != "turn":
		return "is a " + turn.RequestKind + " request"
	case turn.ThreadSource == "thread_title":
		return "asks for a title"
	case len(tools) == 0:
		return "offers no tool"
	}
	return ""
}
