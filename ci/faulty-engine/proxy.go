package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os/exec"
	"regexp"
	"sync"
	"time"
)

// proxy serves one request a connection, whatever it becomes: an answer, a
// stream, a connection that was upgraded to another protocol.
type proxy struct {
	engine string
	rules  []rule
	gone   chan struct{}
	once   sync.Once

	mu  sync.Mutex
	log io.Writer
}

func (p *proxy) serve(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go p.handle(client.(*net.UnixConn))
	}
}

// lose makes the program end.
func (p *proxy) lose() { p.once.Do(func() { close(p.gone) }) }

func (p *proxy) handle(client *net.UnixConn) {
	defer client.Close()
	in := bufio.NewReader(client)
	head, err := readHead(in)
	if err != nil {
		return
	}
	method, path := head.request()
	p.note(method, path)
	r := p.match(method, path)
	switch r.action {
	case "lose":
		p.lose()
		return
	case "status":
		refuse(client, r)
		_ = client.CloseWrite()
		_, _ = io.Copy(io.Discard, in) // who still sends would not read the answer
		return
	case "delay":
		time.Sleep(r.pause)
	case "run":
		if out, err := exec.Command("sh", "-c", r.command).CombinedOutput(); err != nil {
			p.note("failed:", fmt.Sprintf("%s: %v: %s", r.command, err, out))
		}
	}
	p.pass(client, in, head, r)
}

func (p *proxy) match(method, path string) rule {
	for _, r := range p.rules {
		if r.fits(method, path) {
			return r
		}
	}
	return rule{}
}

func (p *proxy) note(method, path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.log, method, path)
}

// pass sends the request on and carries both directions until each has ended.
func (p *proxy) pass(client *net.UnixConn, in io.Reader, head head, r rule) {
	conn, err := net.Dial("unix", p.engine)
	if err != nil {
		return
	}
	engine := conn.(*net.UnixConn)
	defer engine.Close()
	if _, err := engine.Write(head.alone()); err != nil {
		return
	}
	go func() {
		if r.action == "stall" {
			_, _ = io.CopyN(engine, in, r.bytes)
			p.note("stalled", r.path.String())
			_, _ = io.Copy(io.Discard, in)
		}
		_, _ = io.Copy(engine, in)
		_ = engine.CloseWrite()
	}()
	answer := bufio.NewReader(engine)
	switch r.action {
	case "lose-after":
		if _, err := answer.Peek(1); err == nil {
			time.AfterFunc(r.pause, p.lose)
		}
	case "edit":
		sed := exec.Command("sed", "-e", r.command)
		sed.Stdin, sed.Stdout = answer, client
		if err := sed.Run(); err != nil {
			p.note("failed:", fmt.Sprintf("%s: %v", r.command, err))
		}
	}
	_, _ = io.Copy(client, answer)
	_ = client.CloseWrite()
}

func refuse(client io.Writer, r rule) {
	body, err := json.Marshal(map[string]string{"message": r.message})
	if err != nil {
		return
	}
	fmt.Fprintf(client, "HTTP/1.1 %d faulty\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		r.status, len(body), body)
}

// head is a request's first line and headers, with the empty line.
type head []byte

const maxHead = 1 << 20

func readHead(in *bufio.Reader) (head, error) {
	var h head
	for len(h) < maxHead {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		h = append(h, line...)
		if len(bytes.TrimSpace(line)) == 0 {
			return h, nil
		}
	}
	return nil, bufio.ErrTooLong
}

var version = regexp.MustCompile(`^/v[0-9.]+/`)

// request returns the method, and the path without a version and a query.
func (h head) request() (method, path string) {
	fields := bytes.Fields(h[:bytes.IndexByte(h, '\n')])
	if len(fields) < 2 {
		return "", ""
	}
	target, _, _ := bytes.Cut(fields[1], []byte("?"))
	return string(fields[0]), version.ReplaceAllString(string(target), "/")
}

var connection = regexp.MustCompile(`(?im)^(connection|upgrade):`)

// alone asks the engine to close the connection after this request, unless it
// is to become something else.
func (h head) alone() []byte {
	if connection.Match(h) {
		return h
	}
	first := bytes.IndexByte(h, '\n') + 1
	return bytes.Join([][]byte{h[:first], []byte("Connection: close\r\n"), h[first:]}, nil)
}
