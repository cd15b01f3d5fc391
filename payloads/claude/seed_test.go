package claude

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/libcage/payload"
)

type memory struct {
	file   string
	writes int
}

func (m *memory) ReadFile(string) ([]byte, error) {
	if m.file == "" {
		return nil, fs.ErrNotExist
	}
	return []byte(m.file), nil
}

func (m *memory) WriteFile(_ string, data []byte) error {
	m.file = string(data)
	m.writes++
	return nil
}

func session(key string) payload.Session {
	return payload.Session{Project: "/home/a/app", Getenv: func(string) string { return key }}
}

func TestSeed(t *testing.T) {
	const key = "sk-ant-0123456789-0123456789-tail"
	tests := []struct{ name, before, key, want string }{
		{"first run", "", "", `{"hasCompletedOnboarding":true,"bypassPermissionsModeAccepted":true,"projects":{"/home/a/app":{"hasTrustDialogAccepted":true}}}`},
		{"with a key", "", key, `{"hasCompletedOnboarding":true,"bypassPermissionsModeAccepted":true,"projects":{"/home/a/app":{"hasTrustDialogAccepted":true}},"customApiKeyResponses":{"approved":["56789-0123456789-tail"[1:]]}}`},
		{"short key", "", "abc", `{"hasCompletedOnboarding":true,"bypassPermissionsModeAccepted":true,"projects":{"/home/a/app":{"hasTrustDialogAccepted":true}},"customApiKeyResponses":{"approved":["abc"]}}`},
		{"what is there stays", `{"numStartups":12345678901234567890,"projects":{"/other":{"x":[1]},"/home/a/app":{"history":["q"],"hasTrustDialogAccepted":false}},"customApiKeyResponses":{"approved":["k"],"rejected":["r"]}}`, "abc",
			`{"numStartups":12345678901234567890,"hasCompletedOnboarding":true,"bypassPermissionsModeAccepted":true,"projects":{"/other":{"x":[1]},"/home/a/app":{"history":["q"],"hasTrustDialogAccepted":true}},"customApiKeyResponses":{"approved":["k","abc"],"rejected":["r"]}}`},
		{"null project", `{"projects":null}`, "", `{"hasCompletedOnboarding":true,"bypassPermissionsModeAccepted":true,"projects":{"/home/a/app":{"hasTrustDialogAccepted":true}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &memory{file: tt.before}
			if err := seed(m, session(tt.key)); err != nil {
				t.Fatal(err)
			}
			want := strings.Replace(tt.want, `"56789-0123456789-tail"[1:]`, `"`+key[len(key)-20:]+`"`, 1)
			if diff := cmp.Diff(decode(t, want), decode(t, m.file)); diff != "" {
				t.Error(diff)
			}
			if err := seed(m, session(tt.key)); err != nil || m.writes != 1 {
				t.Errorf("second run: %d writes, %v, want none further", m.writes, err)
			}
		})
	}
}

func TestSeedKeepsWhatItCannotRead(t *testing.T) {
	for _, before := range []string{`{"torn`, `[]`, `{"projects":3}`, `{"projects":{"/home/a/app":"x"}}`, `{"customApiKeyResponses":{"approved":"k"}}`} {
		m := &memory{file: before}
		if err := seed(m, session("key")); err == nil || m.file != before {
			t.Errorf("%s: got %v and %s, want an error and no change", before, err, m.file)
		}
	}
}

type broken struct{ memory }

func (broken) ReadFile(string) ([]byte, error) { return nil, errors.New("is not a regular file") }

func TestSeedDoesNotReplaceWhatItMayNotRead(t *testing.T) {
	b := &broken{}
	if err := seed(b, session("")); err == nil || b.writes != 0 {
		t.Errorf("got %v and %d writes, want an error and none", err, b.writes)
	}
}

func decode(t *testing.T, s string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	return v
}
