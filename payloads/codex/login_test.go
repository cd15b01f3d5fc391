package codex

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/agent-cage/agent-cage/libcage/payload"
)

// files is a state directory.
type files map[string]string

func (f files) ReadFile(name string) ([]byte, error) {
	if data, ok := f[name]; ok {
		return []byte(data), nil
	}
	return nil, fs.ErrNotExist
}

func (f files) WriteFile(name string, data []byte) error {
	f[name] = string(data)
	return nil
}

const (
	chatGPT  = `{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"access_token":"t"}}`
	olderGPT = `{"OPENAI_API_KEY":"sk-exchanged","tokens":{"access_token":"t"}}`
	keyOnly  = `{"auth_mode":"apikey","OPENAI_API_KEY":"sk-old"}`
	olderKey = `{"OPENAI_API_KEY":"sk-old","tokens":null}`
	written  = "{\n  \"auth_mode\": \"apikey\",\n  \"OPENAI_API_KEY\": \"sk-new\"\n}"
)

func TestLogin(t *testing.T) {
	openAI := map[string]string{"OPENAI_API_KEY": "sk-new"}
	tests := []struct {
		name     string
		env      map[string]string
		auth     string
		terminal bool
		variable string // CODEX_API_KEY in the box
		want     string // auth.json afterwards
	}{
		{"nothing given", nil, "", true, "", ""},
		{"a key without a terminal is not kept", openAI, "", false, "sk-new", ""},
		{"a key with a terminal", openAI, "", true, "sk-new", written},
		{"the client's own variable wins", map[string]string{"OPENAI_API_KEY": "sk-x", "CODEX_API_KEY": "sk-new"}, "", true, "sk-new", written},
		{"another key than the kept one", openAI, keyOnly, true, "sk-new", written},
		{"the same, in the older form", openAI, olderKey, true, "sk-new", written},
		{"the kept key", map[string]string{"OPENAI_API_KEY": "sk-old"}, keyOnly, true, "sk-old", keyOnly},
		{"no key leaves the kept one", nil, keyOnly, true, "", keyOnly},
		{"a login of another kind wins", openAI, chatGPT, true, "", chatGPT},
		{"the same, in the older form", openAI, olderGPT, true, "", olderGPT},
		{"a broken file is the client's business", openAI, "{", true, "", "{"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := files{}
			if tt.auth != "" {
				dir[authFile] = tt.auth
			}
			s := payload.Session{
				Home: "/home/u", Getenv: func(name string) string { return tt.env[name] },
				ReadState: dir.ReadFile, Terminal: tt.terminal,
			}
			vars := env(s)
			if vars["CODEX_API_KEY"] != tt.variable || vars["CODEX_HOME"] != "/home/u/.codex" {
				t.Errorf("environment: got %q", vars)
			}
			if err := seed(dir, s); err != nil {
				t.Fatal(err)
			}
			if dir[authFile] != tt.want {
				t.Errorf("got %s, want %s", dir[authFile], tt.want)
			}
		})
	}
}

func TestUnreadableLogin(t *testing.T) {
	s := payload.Session{
		Getenv:    func(string) string { return "sk-new" },
		ReadState: func(string) ([]byte, error) { return nil, errors.New("is not a regular file") },
		Terminal:  true,
	}
	dir := files{}
	if err := seed(dir, s); err != nil || len(dir) > 0 {
		t.Errorf("got %v, %v", dir, err)
	}
}
