package buildkit

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/creack/pty"

	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/image"
)

const base = "debian:trixie-slim"

func liveEngine(t *testing.T) Engine {
	t.Helper()
	c, err := engine.Open(t.Context(), engine.Options{Getenv: os.Getenv, Home: os.Getenv("HOME")})
	if err != nil {
		t.Skipf("the build test needs an engine: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Image(t.Context(), base); err != nil {
		t.Skipf("the build test needs an engine with the image %s: %v", base, err)
	}
	return Engine{Client: c}
}

func newBuild(t *testing.T, e Engine, dockerfile string) image.Build {
	t.Helper()
	platform, err := e.Platform(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ref := "agent-cage-build-test:" + strings.ToLower(rand.Text()[:10])
	t.Cleanup(func() {
		if err := e.Remove(context.Background(), ref); err != nil {
			t.Error(err)
		}
	})
	return image.Build{
		Ref:        ref,
		Context:    fstest.MapFS{"Dockerfile": {Data: []byte(dockerfile)}, "dir/tool": {Data: []byte("#!/bin/sh\necho tool\n"), Mode: 0o700}},
		Dockerfile: "Dockerfile",
		Platform:   platform.OS + "/" + platform.Arch,
	}
}

func TestBuild(t *testing.T) {
	e := liveEngine(t)
	build := newBuild(t, e, `ARG BASE
FROM ${BASE}
ARG WORD
COPY dir /opt/dir
RUN --mount=type=secret,id=ca,target=/dev/ca test "$(cat /dev/ca)" = pem
RUN --mount=type=secret,id=none,target=/dev/none test ! -e /dev/none || test ! -s /dev/none
RUN test "$(/opt/dir/tool)" = tool && test "$(stat -c '%a %u %Y' /opt/dir/tool)" = "755 0 315532800" && test "$WORD" = "a b"
`)
	build.Args = map[string]string{"BASE": base, "WORD": "a b"}
	build.Labels = map[string]string{"dev.agent-cage.test": "yes, \"quoted\"=x"}
	build.Secrets = map[string][]byte{"ca": []byte("pem")}
	var lines bytes.Buffer
	if err := e.Build(t.Context(), build, image.Progress{Lines: &lines}); err != nil {
		var failed *image.BuildError
		if errors.As(err, &failed) {
			t.Log(failed.Log)
		}
		t.Fatal(err)
	}
	stored, err := e.Images(t.Context(), build.Ref)
	if err != nil || stored[build.Ref].Labels["dev.agent-cage.test"] != build.Labels["dev.agent-cage.test"] {
		t.Errorf("%+v, %v", stored, err)
	}
	if n := strings.Count(lines.String(), "COPY dir /opt/dir"); n != 1 {
		t.Errorf("the step has %d lines:\n%s", n, lines.String())
	}
}

// Files of the same name, size and time but other content must not be taken
// for the same.
func TestChangedContentIsSent(t *testing.T) {
	e := liveEngine(t)
	for _, word := range []string{"one", "two"} {
		build := newBuild(t, e, "FROM "+base+"\nCOPY word /word\nRUN test \"$(cat /word)\" = "+word+"\n")
		build.Context.(fstest.MapFS)["word"] = &fstest.MapFile{Data: []byte(word)}
		build.Key = word + rand.Text()
		if err := e.Build(t.Context(), build, image.Progress{}); err != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
}

func TestFailures(t *testing.T) {
	e := liveEngine(t)
	for name, test := range map[string]struct {
		dockerfile string
		cause      image.Cause
		log        string
	}{
		"a failing step":      {"FROM " + base + "\nRUN echo said before; exit 3\n", image.StepFailed, "said before"},
		"a broken Dockerfile": {"FROM " + base + "\nNONSENSE\n", image.StepFailed, ""},
		"a missing file":      {"FROM " + base + "\nCOPY nothing /\n", image.StepFailed, ""},
		"a full disk":         {"FROM " + base + "\nRUN echo 'write: No space left on device'; exit 1\n", image.NoSpace, "No space"},
		"a missing base":      {"FROM registry.invalid/none:1\n", image.BaseMissing, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := e.Build(t.Context(), newBuild(t, e, test.dockerfile), image.Progress{})
			var failed *image.BuildError
			if !errors.As(err, &failed) || failed.Cause != test.cause || !strings.Contains(failed.Log, test.log) {
				t.Fatalf("%T %v", err, err)
			}
			t.Log(err)
		})
	}
}

// Cancelling a build ends it and leaves the image that had the name.
func TestCancel(t *testing.T) {
	e := liveEngine(t)
	old := newBuild(t, e, "FROM "+base+"\n")
	if err := e.Build(t.Context(), old, image.Progress{}); err != nil {
		t.Fatal(err)
	}
	before, err := e.Images(t.Context(), old.Ref)
	if err != nil {
		t.Fatal(err)
	}
	slow := old
	slow.Context = fstest.MapFS{"Dockerfile": {Data: []byte("FROM " + base + "\nRUN echo started " + rand.Text() + "; sleep 60\n")}}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	start := time.Now()
	if err := e.Build(ctx, slow, image.Progress{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("the build ended %v after its start", took)
	}
	after, err := e.Images(t.Context(), old.Ref)
	if err != nil || after[old.Ref].ID == "" || after[old.Ref].ID != before[old.Ref].ID {
		t.Errorf("before %v, after %v, %v", before, after, err)
	}
}

func TestReference(t *testing.T) {
	for short, want := range map[string]string{
		"cage-base":          "docker.io/library/cage-base:latest",
		"cage-base:1":        "docker.io/library/cage-base:1",
		"me/cage":            "docker.io/me/cage:latest",
		"localhost/cage:1":   "localhost/cage:1",
		"registry:5000/cage": "registry:5000/cage:latest",
	} {
		if got := reference(short); got != want {
			t.Errorf("%s: got %s, want %s", short, got, want)
		}
	}
}

// relay passes connections on to the engine until it is cut.
type relay struct {
	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: listener}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", to)
			if err != nil {
				conn.Close()
				return
			}
			r.mu.Lock()
			r.conns = append(r.conns, conn, out)
			r.mu.Unlock()
			go io.Copy(out, conn) // it ends with the connection
			go io.Copy(conn, out) // it ends with the connection
		}
	}()
	return r
}

func (r *relay) cut() {
	r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.conns {
		conn.Close()
	}
}

// onText acts once when a text is written.
type onText struct {
	text string
	once sync.Once
	act  func()
}

func (o *onText) Write(p []byte) (int, error) {
	if strings.Contains(string(p), o.text) {
		o.once.Do(o.act)
	}
	return len(p), nil
}

func TestEngineLostInABuild(t *testing.T) {
	local := liveEngine(t)
	socket := local.Client.Endpoint().SocketPath()
	if socket == "" {
		t.Skip("the test needs an engine on a socket")
	}
	r := newRelay(t, socket)
	defer r.cut()
	c, err := engine.Open(t.Context(), engine.Options{Getenv: func(name string) string {
		return map[string]string{"DOCKER_HOST": "unix://" + r.listener.Addr().String()}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	build := newBuild(t, local, "FROM "+base+"\nRUN echo "+rand.Text()+"; sleep 20\n")
	err = Engine{Client: c}.Build(t.Context(), build, image.Progress{Lines: &onText{text: "sleep", act: r.cut}})
	var lost *engine.UnreachableError
	if !errors.As(err, &lost) {
		t.Errorf("%T %v", err, err)
	}
}

func TestTerminalDisplay(t *testing.T) {
	e := liveEngine(t)
	ours, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	if err := pty.Setsize(theirs, &pty.Winsize{Rows: 40, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string)
	go func() {
		text, _ := io.ReadAll(ours) // EIO when the other end is closed
		shown <- string(text)
	}()
	build := newBuild(t, e, "FROM "+base+"\nRUN echo "+rand.Text()+"\n")
	if err := e.Build(t.Context(), build, image.Progress{Terminal: theirs}); err != nil {
		t.Error(err)
	}
	theirs.Close()
	if text := <-shown; !strings.Contains(text, "FINISHED") {
		t.Errorf("%q", text)
	}
}
