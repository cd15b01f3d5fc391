package ghissue

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-cage/agent-cage/internal/githubserver"
)

const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// world is a home outside the zone with a project in it, and a server.
type world struct {
	t             *testing.T
	home, project string
	server        *githubserver.Server
	url           string
	environ       []string
	slept         []time.Duration
	terminal      bool
	answer        time.Duration
	overall       time.Duration
}

func newWorld(t *testing.T) *world {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "ghissue")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	w := &world{t: t, home: base + "/home", project: base + "/home/projects/app", answer: 5 * time.Second, overall: 10 * time.Second}
	if err := os.MkdirAll(w.project, 0o755); err != nil {
		t.Fatal(err)
	}
	w.server = githubserver.New("acme", "app", secret)
	web := httptest.NewServer(w.server)
	t.Cleanup(web.Close)
	w.url = web.URL
	w.environ = []string{"HOME=" + w.home, "GH_ISSUE_REPO=acme/app"}
	w.config("repositories = ['acme/app', 'acme/other']\nurl = '" + web.URL + "'\nplain-loopback = true")
	w.write(".config/agent-cage/github-token", secret+"\n", 0o600)
	return w
}

func (w *world) config(table string) {
	w.write(".config/agent-cage/gate.toml", "[github]\n"+table+"\n", 0o600)
}

// write makes a file in the home directory.
func (w *world) write(name, text string, mode os.FileMode) string {
	w.t.Helper()
	name = filepath.Join(w.home, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		w.t.Fatal(err)
	}
	return name
}

func (w *world) body(text string) string {
	w.write("projects/app/body.md", text, 0o644)
	return "body.md"
}

func (w *world) run(args ...string) (status int, stdout, stderr string) {
	w.t.Helper()
	var out, errs bytes.Buffer
	status = Main(Env{
		Args: args, Stdout: &out, Stderr: &errs, Terminal: w.terminal, Environ: w.environ, Dir: w.project,
		UID: os.Geteuid(), System: w.home + "/etc", Now: func() time.Time { return noon },
		Sleep:  func(_ context.Context, d time.Duration) error { w.slept = append(w.slept, d); return nil },
		Answer: w.answer, Overall: w.overall,
	})
	if strings.Contains(out.String()+errs.String(), secret) {
		w.t.Errorf("%q: the token is printed: %s%s", args, out.String(), errs.String())
	}
	if n := strings.Count(errs.String(), "\n"); n > 1 || (status != 0) != (n == 1) {
		w.t.Errorf("%q: status %d with %d lines of stderr: %q", args, status, n, errs.String())
	}
	return status, out.String(), errs.String()
}

// good runs what has to succeed, and returns its output.
func (w *world) good(args ...string) string {
	w.t.Helper()
	status, out, errs := w.run(args...)
	if status != StatusOK {
		w.t.Fatalf("%q: status %d: %s", args, status, errs)
	}
	return out
}

// bad runs what has to fail with this status and a message with these parts.
func (w *world) bad(status int, parts []string, args ...string) {
	w.t.Helper()
	got, out, errs := w.run(args...)
	if got != status || out != "" {
		w.t.Errorf("%q: status %d, want %d; stdout %q, stderr %q", args, got, status, out, errs)
	}
	for _, p := range parts {
		if !strings.Contains(errs, p) {
			w.t.Errorf("%q: stderr is %q, want %q in it", args, errs, p)
		}
	}
}

// changes are the requests that came and were not GETs.
func (w *world) changes() (all []githubserver.Seen) {
	for _, s := range w.server.Seen() {
		if s.Method != "GET" {
			all = append(all, s)
		}
	}
	return all
}
