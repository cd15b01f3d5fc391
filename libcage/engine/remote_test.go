package engine

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func openAt(t *testing.T, env map[string]string) *Client {
	t.Helper()
	c, err := Open(t.Context(), Options{Getenv: func(name string) string { return env[name] }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// fakeEngine serves the handler on a socket and answers pings with the version.
func fakeEngine(t *testing.T, version string, handler http.HandlerFunc) *Client {
	t.Helper()
	return openAt(t, map[string]string{"DOCKER_HOST": serveEngine(t, version, handler)})
}

// serveEngine is fakeEngine without a client: it returns the endpoint.
func serveEngine(t *testing.T, version string, handler http.HandlerFunc) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/_ping" {
			w.Header().Set("Api-Version", version)
			return
		}
		handler(w, r)
	})}
	go server.Serve(listener) // it ends with the test
	t.Cleanup(func() { server.Close() })
	return "unix://" + socket
}

func TestNoEngine(t *testing.T) {
	for _, host := range []string{"unix:///no/such.sock", "tcp://127.0.0.1:1"} {
		_, err := openAt(t, map[string]string{"DOCKER_HOST": host}).Info(t.Context())
		var unreachable *UnreachableError
		if !errors.As(err, &unreachable) || unreachable.Endpoint != host {
			t.Errorf("%s: %T %v", host, err, err)
		}
	}
}

func TestEngineTooOld(t *testing.T) {
	c := fakeEngine(t, "1.40", func(http.ResponseWriter, *http.Request) { t.Error("called") })
	_, err := c.Info(t.Context())
	var old *VersionError
	if !errors.As(err, &old) || old.Version != "1.40" || old.Required != MinAPIVersion {
		t.Fatalf("%T %v", err, err)
	}
	for _, want := range []string{"1.40", "1.41"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

func TestAskedVersion(t *testing.T) {
	empty := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }
	for _, tt := range []struct{ asked, engine, want string }{
		{"1.41", "1.43", ""},
		{"v1.42", "1.43", ""},
		{"1.43", "1.43", ""},
		{"1.40", "1.43", "DOCKER_API_VERSION asks for API 1.40, but at least 1.41 is needed"},
		{"1.44", "1.43", "DOCKER_API_VERSION asks for API 1.44, but at least 1.41 is needed, and the engine at unix:"},
		{"1.44", "1.43", "speaks 1.43 at most: unset it"},
		{"1.41", "1.40", "speaks API 1.40, at least 1.41"},
	} {
		c := openAt(t, map[string]string{"DOCKER_HOST": serveEngine(t, tt.engine, empty), "DOCKER_API_VERSION": tt.asked})
		_, err := c.Info(t.Context())
		var mismatch *VersionError
		if errors.As(err, &mismatch) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %s: got %v, want %q", tt.asked, tt.engine, err, tt.want)
		}
	}
	for _, asked := range []string{"latest", "1", "1.41.2", "-1.41", "1.41\n"} {
		_, err := Open(t.Context(), Options{Getenv: func(name string) string {
			return map[string]string{"DOCKER_API_VERSION": asked}[name]
		}})
		var endpoint *EndpointError
		if !errors.As(err, &endpoint) || endpoint.Source != "DOCKER_API_VERSION" {
			t.Errorf("%q: got %v", asked, err)
		}
	}
}

func TestClockAhead(t *testing.T) {
	date := ""
	host := serveEngine(t, "1.43", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", "1.43")
		if date != "" {
			w.Header().Set("Date", date)
		} else {
			w.Header()["Date"] = nil
		}
		fmt.Fprint(w, "{}")
	})}
	socket := strings.TrimPrefix(host, "unix://") + "2"
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener) // it ends with the test
	t.Cleanup(func() { server.Close() })
	for _, tt := range []struct {
		host, date string
		told       bool
		min, max   time.Duration
	}{
		{host, "", true, -2 * time.Second, 2 * time.Second},
		{"unix://" + socket, "", false, 0, 0},
		{"unix://" + socket, "yesterday", false, 0, 0},
		{"unix://" + socket, time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), true, -time.Hour - 2*time.Second, -time.Hour + 2*time.Second},
	} {
		date = tt.date
		c := openAt(t, map[string]string{"DOCKER_HOST": tt.host})
		if _, ok := c.ClockAhead(); ok {
			t.Error("a clock is known before the first call")
		}
		_, _ = c.Info(t.Context()) // the answer may be nonsense
		if ahead, ok := c.ClockAhead(); ok != tt.told || ahead < tt.min || ahead > tt.max {
			t.Errorf("%q: got %v, %v", tt.date, ahead, ok)
		}
	}
}

// An engine that goes away while a box runs ends the wait with its own type.
func TestEngineLostWhileWaiting(t *testing.T) {
	waiting := make(chan net.Conn, 1)
	c := fakeEngine(t, "1.41", func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
		waiting <- conn
	})
	exited, err := c.Wait(t.Context(), "id")
	if err != nil {
		t.Fatal(err)
	}
	(<-waiting).Close()
	var lost *UnreachableError
	if exit := <-exited; !errors.As(exit.Err, &lost) {
		t.Errorf("%T %v", exit.Err, exit.Err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	c := fakeEngine(t, "1.41", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	exited, err := c.Wait(ctx, "id")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if exit := <-exited; !errors.Is(exit.Err, context.Canceled) {
		t.Errorf("%v", exit.Err)
	}
}

// certificates writes a CA and a key pair that serve both ends.
func certificates(t *testing.T) (dir string, config *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "engine"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	dir = t.TempDir()
	for name, text := range map[string][]byte{"ca.pem": cert, "cert.pem": cert, "key.pem": keyPEM} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.X509KeyPair(cert, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	return dir, &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert}
}

// forward passes a connection on to the local engine, half-closes included.
func forward(from net.Conn, socket string) {
	defer from.Close()
	to, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(from, to)
}

func TestTLSEngine(t *testing.T) {
	local := liveEngine(t, nil)
	socket := local.Endpoint().SocketPath()
	if socket == "" {
		t.Skip("the test needs an engine on a socket")
	}
	dir, config := certificates(t)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go forward(conn, socket)
		}
	}()
	host := "tcp://" + listener.Addr().String()
	c := openAt(t, map[string]string{"DOCKER_HOST": host, "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": dir})
	out, _, exit, _ := run(t, c, testPlan(t), "echo over TLS; exit 3\n")
	if out != "over TLS\n" || exit.Status != 3 || exit.Err != nil {
		t.Errorf("%q, %+v", out, exit)
	}
	strangers, _ := certificates(t)
	_, err = openAt(t, map[string]string{"DOCKER_HOST": host, "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": strangers}).Info(t.Context())
	if err == nil {
		t.Error("an engine with a strange certificate was trusted")
	}
}

// TestMain lets the test program stand in for ssh: it connects its streams to
// the socket that the variable names.
func TestMain(m *testing.M) {
	socket := os.Getenv("ENGINE_TEST_DIAL_STDIO")
	if socket == "" {
		os.Exit(m.Run())
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, conn)
}

func TestSSHEngine(t *testing.T) {
	local := liveEngine(t, nil)
	socket := local.Endpoint().SocketPath()
	if socket == "" {
		t.Skip("the test needs an engine on a socket")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho \"$@\" >>%s/args\nexec env ENGINE_TEST_DIAL_STDIO=%s %s\n", bin, socket, self)
	if err := os.WriteFile(filepath.Join(bin, "ssh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	c := openAt(t, map[string]string{"DOCKER_HOST": "ssh://me@far:2222"})
	out, _, exit, _ := run(t, c, testPlan(t), "echo over ssh; exit 3\n")
	if out != "over ssh\n" || exit.Status != 3 || exit.Err != nil {
		t.Errorf("%q, %+v", out, exit)
	}
	args, err := os.ReadFile(filepath.Join(bin, "args"))
	if err != nil || !strings.Contains(string(args), "-l me -p 2222") || !strings.Contains(string(args), "dial-stdio") {
		t.Errorf("ssh was called with %q, %v", args, err)
	}
}
