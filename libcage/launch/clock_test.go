package launch

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-cage/agent-cage/libcage/engine"
)

func TestClockWarning(t *testing.T) {
	for _, tt := range []struct {
		ahead time.Duration
		want  string
	}{
		{0, ""},
		{clockSlack - 5*time.Second, ""},
		{-clockSlack + 5*time.Second, ""},
		{clockSlack + 5*time.Second, "WARNING: the engine's clock is 5m"},
		{-clockSlack - 5*time.Second, "WARNING: the engine's clock is -5m"},
		{-2 * 8760 * time.Hour, "off this one's: set it right"},
	} {
		var said strings.Builder
		l := &launcher{say: voice{w: &said, label: "box"}}
		client := engineAt(t, func() time.Time { return time.Now().Add(tt.ahead) })
		l.mentionClock(client)
		if said.Len() > 0 {
			t.Errorf("before the first call: %q", said.String())
		}
		if _, err := client.Info(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.mentionClock(client)
		if (tt.want == "") != (said.Len() == 0) || !strings.Contains(said.String(), tt.want) {
			t.Errorf("%v: got %q, want %q", tt.ahead, said.String(), tt.want)
		}
	}
}

// engineAt is an engine with a clock of its own.
func engineAt(t *testing.T, now func() time.Time) *engine.Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", engine.MinAPIVersion)
		w.Header().Set("Date", now().UTC().Format(http.TimeFormat))
		fmt.Fprint(w, "{}")
	})}
	go server.Serve(listener) // it ends with the test
	t.Cleanup(func() { server.Close() })
	client, err := engine.Open(t.Context(), engine.Options{Getenv: func(name string) string {
		return map[string]string{"DOCKER_HOST": "unix://" + socket}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}
