package scriptedapi

import (
	"encoding/json"
	"fmt"
	"time"
)

// Script is what the model will say, to whom, and what it expects to be sent.
// See the package documentation for the whole of it in JSON.
type Script struct {
	// Conversations are tried in order; the first that matches a client's
	// conversation answers it from then on.
	Conversations []*Conversation `json:"conversations,omitempty"`
	// Turns is the short form of a script with one conversation that matches
	// every client. It excludes Conversations.
	Turns []*Turn `json:"turns,omitempty"`
	// Auxiliary is the text that requests beside the main conversation are
	// answered with. The default is "ok".
	Auxiliary string `json:"auxiliary,omitempty"`
	// AuxiliaryPrompts are openings of a last prompt that mark a request as
	// auxiliary, beyond those that the package knows.
	AuxiliaryPrompts Strings `json:"auxiliaryPrompts,omitempty"`
}

// Conversation is one conversation's turns. Every client conversation that
// matches starts at the first turn: ten clients on one script do not disturb
// each other.
type Conversation struct {
	// Name is used in the record and in reports. The default is its number.
	Name  string `json:"name,omitempty"`
	Match Match  `json:"match,omitzero"`
	// Optional says that it is no failure if no client ever has this
	// conversation, or leaves it before its last turn.
	Optional bool    `json:"optional,omitempty"`
	Turns    []*Turn `json:"turns"`
}

// Match selects the client conversations that a Conversation is for. All that
// is set must hold for the conversation's first request; an empty Match holds
// for every conversation.
type Match struct {
	API    API     `json:"api,omitempty"`
	Prompt Strings `json:"prompt,omitempty"` // substrings of the first prompt
	Tools  Strings `json:"tools,omitempty"`  // names of tools that are offered
}

// API is one of the two protocols.
type API string

// The protocols.
const (
	Messages  API = "messages"  // Anthropic Messages
	Responses API = "responses" // OpenAI Responses
)

// Turn is the answer to one request: a reply, a fault, or a reply that a
// fault cuts short.
type Turn struct {
	Expect Expect `json:"expect,omitzero"`
	Reply  []Item `json:"reply,omitempty"`
	Fault  *Fault `json:"fault,omitempty"`
	// Times repeats a turn with a fault, for clients that retry. The default
	// is 1.
	Times int   `json:"times,omitempty"`
	Usage Usage `json:"usage,omitzero"`
	// Wait is the time before the first byte of the answer.
	Wait Duration `json:"wait,omitempty"`
	// Pace is the time between two events of a stream.
	Pace Duration `json:"pace,omitempty"`
}

// Expect is what a request must be like. A request that is not is a mismatch:
// it is refused with status 400, recorded, and makes Err fail.
type Expect struct {
	Prompt Strings `json:"prompt,omitempty"` // substrings of the prompt since the last answer
	// Notice are substrings of the text that the client itself put into user
	// messages since the last answer, such as that a background task ended.
	Notice   Strings `json:"notice,omitempty"`
	Result   Strings `json:"result,omitempty"`   // substrings of the tool results since the last answer
	NoResult Strings `json:"noResult,omitempty"` // what no such tool result may contain
	// Error, if set, says whether a tool result is marked as an error. Only
	// the Messages API marks them.
	Error   *bool   `json:"error,omitempty"`
	System  Strings `json:"system,omitempty"`  // substrings of the system or developer prompt
	Tools   Strings `json:"tools,omitempty"`   // tools that must be offered
	NoTools Strings `json:"noTools,omitempty"` // tools that must not be
	// Capture sets variables, usable as {{name}} in this turn's reply and in
	// all later ones: each value is a regular expression whose first group
	// (or whole match) is taken from the tool results or, if there are none,
	// from the prompt.
	Capture map[string]string `json:"capture,omitempty"`
}

// Item is one piece of a reply: a text or a tool call.
type Item struct {
	Text string `json:"text,omitempty"`
	// Call is the name of a tool. It must be among those that the request
	// offers, unless Unoffered is set.
	Call string `json:"call,omitempty"`
	// Namespace is the group that a Responses tool is offered in, if any.
	Namespace string `json:"namespace,omitempty"`
	// Input is an object: the call's arguments. For a custom (free-form) tool
	// of the Responses API it is a string.
	Input     any  `json:"input,omitempty"`
	Unoffered bool `json:"unoffered,omitempty"`
}

// Usage is how many tokens a turn reports. Zero means 100 in, 20 out.
type Usage struct {
	Input       int `json:"input,omitempty"`
	Output      int `json:"output,omitempty"`
	CacheRead   int `json:"cacheRead,omitempty"`
	CacheCreate int `json:"cacheCreate,omitempty"`
}

// Fault is how a turn fails. Exactly one of Status, Event and Cut is set.
type Fault struct {
	// Status is an HTTP error status, such as 429, 500 or 529.
	Status int `json:"status,omitempty"`
	// RetryAfter is the value of that header, in seconds.
	RetryAfter string `json:"retryAfter,omitempty"`
	// Event sends an error event in a stream that began with status 200,
	// after the turn's reply items.
	Event bool `json:"event,omitempty"`
	// Cut closes the connection without a proper end.
	Cut Cut `json:"cut,omitempty"`
	// Type and Message are the error's. They have defaults.
	Type    string `json:"type,omitempty"`
	Message string `json:"message,omitempty"`
}

// Cut says where a connection is cut.
type Cut string

// The places of a cut.
const (
	CutBefore Cut = "before" // before the first byte of the answer
	CutStream Cut = "stream" // in the stream, after the turn's reply items and before its end
)

// Strings is a list that may be written as one string in JSON.
type Strings []string

// UnmarshalJSON takes a string or a list of strings.
func (s *Strings) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*s = Strings{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(s))
}

// Duration is written in JSON as Go writes it, such as "150ms".
type Duration time.Duration

// UnmarshalJSON takes what time.ParseDuration takes, but nothing negative.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	if parsed < 0 {
		return fmt.Errorf("negative duration %q", text)
	}
	*d = Duration(parsed)
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).String())
}
