package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-cage/agent-cage/internal/scriptedapi"
)

// TestScriptsLoad: the scripts that come with the command are good.
func TestScriptsLoad(t *testing.T) {
	files, err := filepath.Glob("scripts/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		if _, err := scriptedapi.LoadFile(file, nil); err != nil {
			t.Error(err)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	script := writeScript(t, `{"turns":[{"reply":[{"text":"{{word}}"}]}]}`)
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"no script", nil, "--script is missing"},
		{"argument", []string{"--script", script, "x"}, `unexpected argument "x"`},
		{"bad var", []string{"--script", script, "--var", "word"}, "needs name=value"},
		{"var missing", []string{"--script", script}, "{{word}} has no value"},
		{"all addresses", []string{"--script", script, "--var", "word=x", "--listen", "0.0.0.0:0"}, "not a loopback address"},
		{"no address", []string{"--script", script, "--var", "word=x", "--listen", ":0"}, "not a loopback address"},
		{"a name", []string{"--script", script, "--var", "word=x", "--listen", "localhost:0"}, "not a loopback address"},
		{"all v6", []string{"--script", script, "--var", "word=x", "--listen", "[::]:0"}, "not a loopback address"},
		{"no such file", []string{"--script", script + "x"}, "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			var stderr bytes.Buffer
			if got := run(ctx, c.args, &stderr); got != exitStart {
				t.Errorf("status %d", got)
			}
			if !strings.Contains(stderr.String(), c.want) {
				t.Errorf("got %q, want %q", stderr.String(), c.want)
			}
		})
	}
}

func TestRunEnds(t *testing.T) {
	for _, c := range []struct {
		name, prompt string
		status       int
		want         string
	}{
		{"as expected", "hello", 0, ""},
		{"mismatch", "goodbye", exitMismatch, `prompt without "hello"`},
		{"nobody came", "", exitMismatch, "no client began it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			script := writeScript(t, `{"turns":[{"expect":{"prompt":"hello"},"reply":[{"text":"x"}]}]}`)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var stderr bytes.Buffer
			ended := make(chan int, 1)
			go func() {
				ended <- run(ctx, []string{"--script", script, "--port-file", dir + "/port", "--record", dir + "/record", "--log", dir + "/log"}, &stderr)
			}()
			port := await(t, dir+"/port")
			if c.prompt != "" {
				ask(t, port, c.prompt)
			}
			cancel()
			if got := <-ended; got != c.status {
				t.Errorf("status %d: %s", got, &stderr)
			}
			if !strings.Contains(stderr.String(), c.want) {
				t.Errorf("got %q, want %q", &stderr, c.want)
			}
			record, err := os.ReadFile(dir + "/record")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(record), c.prompt) {
				t.Errorf("record %s lacks %s", record, c.prompt)
			}
		})
	}
}

func writeScript(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func await(t *testing.T, path string) string {
	t.Helper()
	for range 500 {
		if data, err := os.ReadFile(path); err == nil {
			return strings.TrimSpace(string(data))
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no %s", path)
	return ""
}

func ask(t *testing.T, port, prompt string) {
	t.Helper()
	body := `{"tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"` + prompt + `"}]}`
	resp, err := http.Post("http://127.0.0.1:"+port+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}
