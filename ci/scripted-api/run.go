package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/agent-cage/agent-cage/internal/scriptedapi"
)

// Options are the command's flags.
type Options struct {
	Listen   string            // address and port; the port may be 0
	PortFile string            // gets the port, in decimal, once it is open
	Script   string            // the script's file
	Vars     map[string]string // values for the script's {{name}}
	Record   string            // gets a line of JSON for each request; "" for none
	Log      string            // gets the log; "" for stderr
}

const (
	exitMismatch = 1
	exitStart    = 2
)

func run(ctx context.Context, args []string, stderr io.Writer) int {
	opts, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = serve(ctx, opts, stderr)
	}
	var mismatch *scriptedapi.MismatchError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &mismatch):
		fmt.Fprintf(stderr, "scripted-api: the clients did not follow the script:\n%v\n", err)
		return exitMismatch
	default:
		fmt.Fprintf(stderr, "scripted-api: %v\n", err)
		return exitStart
	}
}

func parse(args []string, stderr io.Writer) (*Options, error) {
	opts := &Options{Vars: map[string]string{}}
	flags := flag.NewFlagSet("scripted-api", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&opts.Listen, "listen", "127.0.0.1:0", "loopback `address` and port; port 0 takes a free one")
	flags.StringVar(&opts.PortFile, "port-file", "", "`file` that gets the port once it is open")
	flags.StringVar(&opts.Script, "script", "", "script `file`")
	flags.StringVar(&opts.Record, "record", "", "`file` that gets a line of JSON for each request")
	flags.StringVar(&opts.Log, "log", "", "`file` that gets the log instead of stderr")
	flags.Func("var", "`name=value` for the script; may be repeated", func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return errors.New("needs name=value")
		}
		opts.Vars[name] = value
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if opts.Script == "" {
		return nil, errors.New("--script is missing")
	}
	return opts, nil
}

func serve(ctx context.Context, opts *Options, stderr io.Writer) error {
	script, err := scriptedapi.LoadFile(opts.Script, opts.Vars)
	if err != nil {
		return err
	}
	server := scriptedapi.New(script)
	server.LogTo = stderr
	for _, out := range []struct {
		path string
		to   *io.Writer
	}{{opts.Record, &server.RecordTo}, {opts.Log, &server.LogTo}} {
		if out.path == "" {
			continue
		}
		// A record holds prompts and file contents, so it is its owner's alone.
		f, err := os.OpenFile(out.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		*out.to = f
	}
	listener, err := listen(opts.Listen)
	if err != nil {
		return err
	}
	if err := writePort(opts.PortFile, listener); err != nil {
		listener.Close()
		return err
	}
	if err := serveUntil(ctx, listener, server.Handler()); err != nil {
		return err
	}
	return server.Err()
}

// listen refuses whatever another machine could reach: the server has no
// authentication, and its record holds what clients send.
func listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("--listen %s: not a loopback address", address)
	}
	return net.Listen("tcp", address)
}

// writePort renames the file into place: whoever waits for it never reads half
// a number.
func writePort(path string, listener net.Listener) error {
	if path == "" {
		return nil
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(strconv.Itoa(listener.Addr().(*net.TCPAddr).Port) + "\n")
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// serveUntil serves until ctx ends. Streams that are open then get a second to
// come to their end.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return server.Close()
	}
	return nil
}
