package codex

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/agent-cage/agent-cage/libcage/payload"
)

// authFile is where the client keeps its login.
const authFile = "auth.json"

// login is the part of authFile that tells an API key from all else.
type login struct {
	Mode   string          `json:"auth_mode,omitempty"`
	Key    string          `json:"OPENAI_API_KEY,omitempty"`
	Tokens json.RawMessage `json:"tokens,omitempty"`
}

// apiKey returns the API key that the caller's environment gives, unless the
// client has another login, which wins. The client by itself takes none from
// OPENAI_API_KEY, and one from CODEX_API_KEY without a terminal only.
func apiKey(s payload.Session) string {
	key := cmp.Or(s.Getenv("CODEX_API_KEY"), s.Getenv("OPENAI_API_KEY"))
	if key == "" {
		return ""
	}
	data, err := s.ReadState(authFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return key
	case err != nil:
		return ""
	}
	if _, ok := keptKey(data); !ok {
		return ""
	}
	return key
}

// keptKey returns the key of a login that is nothing but an API key.
func keptKey(file []byte) (key string, ok bool) {
	var l login
	if json.Unmarshal(file, &l) != nil {
		return "", false
	}
	tokens := len(l.Tokens) > 0 && string(l.Tokens) != "null"
	return l.Key, l.Key != "" && !tokens && (l.Mode == "" || l.Mode == "apikey")
}

// seed logs a client with a terminal in with the key of the environment, as
// "codex login --with-api-key" does: without a login it would ask for one.
// Without a terminal the variable is enough, and the key is not kept.
func seed(dir payload.StateDir, s payload.Session) error {
	key := apiKey(s)
	if key == "" || !s.Terminal {
		return nil
	}
	if data, err := dir.ReadFile(authFile); err == nil {
		if kept, _ := keptKey(data); kept == key {
			return nil
		}
	}
	data, err := json.MarshalIndent(login{Mode: "apikey", Key: key}, "", "  ")
	if err != nil {
		return err
	}
	return dir.WriteFile(authFile, data)
}
