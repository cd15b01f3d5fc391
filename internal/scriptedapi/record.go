package scriptedapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"time"
)

// Kind is what a request was taken for.
type Kind string

// The kinds of requests.
const (
	KindTurn      Kind = "turn"      // of a conversation: it gets a turn of the script
	KindAuxiliary Kind = "auxiliary" // model requests beside it
	KindOther     Kind = "other"     // all the rest
)

// Record is one request and what became of it: a line of the record file.
type Record struct {
	Seq    int         `json:"seq"` // from 1, in the order of arrival
	Time   time.Time   `json:"time"`
	Method string      `json:"method"`
	Path   string      `json:"path"`
	Header http.Header `json:"header"` // credentials redacted
	// Credential is the header that carried one and the first 12 hexadecimal
	// digits of the SHA-256 of its value, without "Bearer ": enough to say
	// whether it was the expected one.
	Credential string `json:"credential,omitempty"`
	Kind       Kind   `json:"kind"`
	// Why says why a request is auxiliary.
	Why string `json:"why,omitempty"`
	// Conversation is the script's conversation and the client's number in it,
	// such as "main#2"; Turn is the turn it got, from 1.
	Conversation string `json:"conversation,omitempty"`
	Turn         int    `json:"turn,omitempty"`
	// Replayed says that the client sent an answered request again.
	Replayed bool     `json:"replayed,omitempty"`
	Model    string   `json:"model,omitempty"`
	Stream   bool     `json:"stream,omitempty"`
	Tools    []string `json:"tools,omitempty"`
	// Prompt and Results are what the request adds since the last answer.
	Prompt   string          `json:"prompt,omitempty"`
	Results  []Result        `json:"results,omitempty"`
	Mismatch string          `json:"mismatch,omitempty"`
	Body     json.RawMessage `json:"body,omitempty"`
}

var credentialHeaders = []string{"Authorization", "X-Api-Key", "Proxy-Authorization", "Cookie"}

// redact returns the headers without credentials and what to record of them.
func redact(header http.Header) (http.Header, string) {
	clean := header.Clone()
	credential := ""
	for _, name := range credentialHeaders {
		value := header.Get(name)
		if value == "" {
			continue
		}
		clean.Set(name, "REDACTED")
		if credential == "" {
			credential = name + " " + Digest(value)
		}
	}
	return clean, credential
}

// Digest is what a record says of a credential: the first 12 hexadecimal
// digits of its SHA-256, taken without a leading "Bearer ".
func Digest(credential string) string {
	const bearer = "Bearer "
	if len(credential) > len(bearer) && credential[:len(bearer)] == bearer {
		credential = credential[len(bearer):]
	}
	sum := sha256.Sum256([]byte(credential))
	return hex.EncodeToString(sum[:])[:12]
}

// fill notes what r says.
func (rec *Record) fill(r *request) {
	rec.Kind = KindTurn
	rec.Model, rec.Stream, rec.Tools = r.model, r.stream, r.tools
	rec.Prompt, rec.Results = r.prompt, r.results
	if r.auxiliary != "" {
		rec.Kind, rec.Why = KindAuxiliary, r.auxiliary
	}
}
