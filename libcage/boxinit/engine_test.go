//go:build linux

package boxinit_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/cabundle"
	"github.com/agent-cage/agent-cage/libcage/handshake"
	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/posture"
)

const (
	engineSocket = "/var/run/docker.sock"
	testImage    = "debian:trixie-slim"
)

// cageInit builds cage-init once for all tests that run boxes.
var cageInit = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "cage-init-test")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "cage-init")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "github.com/agent-cage/agent-cage/cmd/cage-init")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return bin, os.Chmod(dir, 0o755)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if bin, err := cageInit(); err == nil {
		os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

// needEngine skips a test where no box can run.
func needEngine(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("short: the test starts boxes")
	}
	conn, err := net.Dial("unix", engineSocket)
	if err != nil {
		t.Skipf("no container engine answers: %v", err)
	}
	conn.Close()
	if status, _ := api(t, "GET", "/images/"+testImage+"/json", nil); status != http.StatusOK {
		t.Skipf("the engine has no image %s: ci/bootstrap makes it", testImage)
	}
	bin, err := cageInit()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// api makes one call of the engine's.
func api(t *testing.T, method, path string, body any) (int, []byte) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", engineSocket)
		},
		DisableKeepAlives: true,
	}}
	var in io.Reader
	if body != nil {
		doc, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		in = bytes.NewReader(doc)
	}
	req, err := http.NewRequest(method, "http://engine"+path, in)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, out
}

// stream is a hijacked connection of the engine's.
type stream struct {
	*net.UnixConn
	r *bufio.Reader
}

func hijack(t *testing.T, path, body string) *stream {
	t.Helper()
	s, err := upgrade(path, body)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// upgrade makes a request whose answer is a stream of bytes in both directions.
func upgrade(path, body string) (*stream, error) {
	conn, err := net.Dial("unix", engineSocket)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
	r := bufio.NewReader(conn)
	res, err := http.ReadResponse(r, nil)
	if err == nil && res.StatusCode != http.StatusSwitchingProtocols {
		err = fmt.Errorf("%s: %s", path, res.Status)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &stream{UnixConn: conn.(*net.UnixConn), r: r}, nil
}

// demux separates what a box without a terminal writes.
func demux(r io.Reader, stdout, stderr io.Writer) error {
	var head [8]byte
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return nil
		}
		to := stdout
		if head[0] == 2 {
			to = stderr
		}
		if _, err := io.CopyN(to, r, int64(binary.BigEndian.Uint32(head[4:]))); err != nil {
			return err
		}
	}
}

// testBox is a box that a test starts as a launcher does.
type testBox struct {
	Run        handshake.Run
	TTY        bool
	NoLifeline bool
	NoFrame    bool
	// Binds are mounts that the plan does not know of.
	Binds []string
	// Entrypoint, if not nil, is there instead of cage-init.
	Entrypoint []string
	// Typed is the harness's input; Typing is called with the stream when the
	// harness has started. Neither closes it if Open is set.
	Typed  string
	Typing func(*running)
	Open   bool
	// CapAdd, if not nil, is given instead of what the plan's user needs.
	CapAdd []string
}

type running struct {
	t        *testing.T
	id       string
	conn     *stream
	lifeline *stream
	out, err lockedBuffer
	started  chan struct{}
}

type ended struct {
	Status   int
	Out, Err string
	Outcome  handshake.Outcome
	Took     time.Duration
}

// sh is a run of a shell command as user 1000 with a home of its own.
func sh(script string) handshake.Run { return command("sh", "-c", script) }

func command(argv ...string) handshake.Run {
	return handshake.Run{
		Argv: argv, Dir: "/",
		Plan: plan.Plan{User: plan.User{
			Name: "zoe", Home: "/home/zoe", UID: 1000, GID: 1000, HostUID: 1000, HostGID: 1000,
		}},
	}
}

func (b testBox) start(t *testing.T) (*running, func() ended) {
	t.Helper()
	bin := needEngine(t)
	b.Run.Nonce = handshake.NewNonce()
	entry := b.Entrypoint
	if entry == nil {
		entry = []string{needs.Init}
	}
	binds := append([]string{bin + ":" + needs.BinaryDir + "/cage-init:ro"}, b.Binds...)
	for _, m := range b.Run.Plan.Mounts {
		bind := m.Source + ":" + m.Target
		if m.ReadOnly {
			bind += ":ro"
		}
		binds = append(binds, bind)
	}
	capAdd := b.CapAdd
	if capAdd == nil {
		for _, c := range needs.Capabilities(b.Run.Plan.User, b.Run.Plan.Mounts) {
			capAdd = append(capAdd, c.Name)
		}
	}
	status, body := api(t, "POST", "/containers/create", map[string]any{
		"Image": testImage, "Entrypoint": entry, "Cmd": []string{},
		"OpenStdin": true, "StdinOnce": true, "Tty": b.TTY,
		"AttachStdin": true, "AttachStdout": true, "AttachStderr": true,
		"Env":    []string{"PATH=/usr/local/bin:/usr/bin:/bin", "IMAGE=1"},
		"Labels": map[string]string{"dev.agent-cage.test": "boxinit"},
		"HostConfig": map[string]any{
			"Binds": binds, "CapDrop": []string{"ALL"}, "CapAdd": capAdd,
			"NetworkMode": "none", "LogConfig": map[string]any{"Type": "none"},
			"SecurityOpt": []string{"seccomp=" + posture.Seccomp()},
			"Tmpfs":       map[string]string{needs.RunDir: "mode=0755"},
		},
	})
	if status != http.StatusCreated {
		t.Fatalf("create: %d %s", status, body)
	}
	var created struct {
		ID string `json:"Id"`
	}
	if err := json.Unmarshal(body, &created); err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, id: created.ID, started: make(chan struct{})}
	t.Cleanup(func() { api(t, "DELETE", "/containers/"+r.id+"?force=1", nil) })

	r.conn = hijack(t, "/containers/"+r.id+"/attach?stream=1&stdin=1&stdout=1&stderr=1&detachKeys=%FF,%FF,%FF,%FF", "")
	var begin atomic.Int64 // when PID 1 had started
	begin.Store(time.Now().UnixNano())
	dialogue := handshake.NewDialogue(b.Run.Nonce, &r.out, handshake.Events{
		Ready: func([]cabundle.ID) error {
			begin.Store(time.Now().UnixNano())
			if b.NoFrame {
				return nil
			}
			return handshake.WriteRun(r.conn, &b.Run)
		},
		Progress: func(line string) { t.Log(line) },
		Go:       func() error { close(r.started); return nil },
	})
	copied := make(chan error, 1)
	go func() {
		var err error
		if b.TTY {
			_, err = io.Copy(dialogue, r.conn.r)
		} else {
			err = demux(r.conn.r, dialogue, &r.err)
		}
		dialogue.Close()
		copied <- err
	}()
	if status, body := api(t, "POST", "/containers/"+r.id+"/start", nil); status != http.StatusNoContent {
		t.Fatalf("start: %d %s", status, body)
	}
	go func() {
		select {
		case <-r.started:
		case <-time.After(20 * time.Second):
			return
		}
		io.WriteString(r.conn, b.Typed)
		if b.Typing != nil {
			b.Typing(r)
		}
		if !b.Open && !b.TTY {
			r.conn.CloseWrite()
		}
	}()
	return r, func() ended {
		t.Helper()
		if !b.NoLifeline {
			r.hang()
		}
		stuck := time.AfterFunc(30*time.Second, func() {
			t.Errorf("the box does not end: output %q", r.out.String())
			api(t, "POST", "/containers/"+r.id+"/kill", nil)
		})
		_, body := api(t, "POST", "/containers/"+r.id+"/wait", nil)
		stuck.Stop()
		took := time.Since(time.Unix(0, begin.Load()))
		var exit struct{ StatusCode int }
		if err := json.Unmarshal(body, &exit); err != nil {
			t.Fatalf("wait: %s", body)
		}
		if err := <-copied; err != nil {
			t.Logf("streams: %v", err)
		}
		if r.lifeline != nil {
			r.lifeline.Close()
		}
		return ended{Status: exit.StatusCode, Out: r.out.String(), Err: r.err.String(), Outcome: dialogue.Outcome(), Took: took}
	}
}

// hang starts the lifeline if the box still runs.
func (r *running) hang() {
	status, body := api(r.t, "POST", "/containers/"+r.id+"/exec", map[string]any{
		"AttachStdin": true, "AttachStdout": true, "AttachStderr": true,
		"Cmd": needs.Lifeline(), "User": needs.Bystander(),
	})
	if status != http.StatusCreated {
		return // it has ended already
	}
	var created struct {
		ID string `json:"Id"`
	}
	if err := json.Unmarshal(body, &created); err != nil {
		r.t.Error(err)
		return
	}
	// The box may end between the two calls. One that does not has no lifeline then,
	// and its status says so.
	lifeline, err := upgrade("/exec/"+created.ID+"/start", `{"Detach":false,"Tty":false}`)
	if err != nil {
		r.t.Log(err)
		return
	}
	r.lifeline = lifeline
}

func (b testBox) run(t *testing.T) ended {
	t.Helper()
	_, wait := b.start(t)
	return wait()
}

type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// waitFor waits until the box has written text.
func (r *running) waitFor(text string) {
	r.t.Helper()
	for range 500 {
		if strings.Contains(r.out.String(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Errorf("the box has not written %q but %q", text, r.out.String())
}
