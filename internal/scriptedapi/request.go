package scriptedapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// request is what the two protocols have in common, as far as a script cares.
type request struct {
	api    API
	stream bool
	model  string
	// key is the same in all requests of one client conversation and in none
	// of another.
	key       string
	system    string
	cwd       string
	tools     []string
	first     string          // the first prompt
	answers   int             // assistant items so far
	prompt    string          // the prompts since the last of them
	notice    string          // the client's own user text since then
	results   []Result        // the tool results since the last of them
	auxiliary string          // why this is no turn of a conversation, or ""
	schema    json.RawMessage // JSON Schema that the answer must fit, if any
}

// Result is a tool result as the model was sent it.
type Result struct {
	ID    string `json:"id"`
	Text  string `json:"text"`
	Error bool   `json:"error,omitempty"`
}

// fingerprint tells a client's retry of one request from its next request.
// It leaves out what clients vary between tries, such as the stream flag.
func (r *request) fingerprint() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d\x00%s\x00", r.answers, r.prompt)
	for _, result := range r.results {
		fmt.Fprintf(sum, "%s\x00%s\x00", result.ID, result.Text)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// resultText is all tool results, one after the other.
func (r *request) resultText() string {
	texts := make([]string, len(r.results))
	for i, result := range r.results {
		texts[i] = result.Text
	}
	return strings.Join(texts, "\n")
}

// addPrompt notes what a user message says. Clients put text of their own into
// user messages, each piece between tags; such a piece is no prompt.
func (r *request) addPrompt(text string) {
	if isInjected(text) {
		r.notice += text + "\n"
		return
	}
	if r.first == "" {
		r.first = text
	}
	if r.prompt != "" {
		r.prompt += "\n"
	}
	r.prompt += text
}

// addAnswer notes an assistant item: what came before it is answered.
func (r *request) addAnswer() {
	r.answers++
	r.prompt, r.notice, r.results = "", "", nil
}

var injectedOpenings = []string{
	"<system-reminder>", "<environment_context>", "<user_instructions>", "<skills_instructions>",
	"<recommended_plugins>", "<turn_aborted>", "<permissions instructions>", "# AGENTS.md instructions",
}

func isInjected(text string) bool {
	return hasOpening(text, injectedOpenings)
}

func hasOpening(text string, openings []string) bool {
	text = strings.TrimSpace(text)
	for _, opening := range openings {
		if strings.HasPrefix(text, opening) {
			return true
		}
	}
	return false
}

// part is a piece of content in either protocol.
type part struct {
	Type      string  `json:"type"`
	Text      string  `json:"text"`
	ToolUseID string  `json:"tool_use_id"`
	IsError   bool    `json:"is_error"`
	Encrypted string  `json:"encrypted_content"`
	Content   content `json:"content"`
}

// content is a list of parts that may be written as one string.
type content []part

func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(data, (*[]part)(c))
}

// text joins the parts that are text; of others it names the type.
func (c content) text() string {
	texts := make([]string, len(c))
	for i, p := range c {
		switch {
		case strings.HasSuffix(p.Type, "text"):
			texts[i] = p.Text
		case p.Encrypted != "":
			texts[i] = p.Encrypted
		default:
			texts[i] = "[" + p.Type + "]"
		}
	}
	return strings.Join(texts, "\n")
}

// between returns what stands between two marks in text, or "".
func between(text, before, after string) string {
	_, rest, ok := strings.Cut(text, before)
	if !ok {
		return ""
	}
	found, _, _ := strings.Cut(rest, after)
	return strings.TrimSpace(found)
}
