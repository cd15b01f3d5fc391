// Command faulty-engine stands between a client and a container engine and
// makes chosen requests go wrong. It listens on a socket and passes everything
// on to the engine's, so a client takes it for the engine.
//
//	faulty-engine --listen SOCKET [--engine SOCKET] [--log FILE] --rule RULE...
//
// A rule is METHOD PATTERN ACTION [ARGUMENT], apart by blanks. The pattern is a
// regular expression that is looked for in the path without its version; the
// first rule that fits takes the request. The actions:
//
//	run COMMAND    run a shell command, then pass the request on
//	delay TIME     wait, then pass it on
//	status N TEXT  answer with that status and a message
//	edit SCRIPT    let sed rewrite the answer, without changing its length
//	stall BYTES    pass on so many bytes of what follows the request, and not the rest
//	lose           be gone: the request is not passed on
//	lose-after TIME  be gone that long after the answer has begun
//
// To be gone is to end: every connection is cut and nobody listens any more.
// So a signal to this program is an engine that is lost at that moment. The
// log has a line for each request, METHOD PATH, and one for each that stalls.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "faulty-engine:", err)
		os.Exit(1)
	}
}

// run serves until the context ends or a rule makes the engine disappear.
func run(ctx context.Context, args []string, stderr io.Writer) error {
	p := &proxy{gone: make(chan struct{}), log: io.Discard}
	flags := flag.NewFlagSet("faulty-engine", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "", "the socket to listen on")
	flags.StringVar(&p.engine, "engine", "/var/run/docker.sock", "the engine's socket")
	logFile := flags.String("log", "", "the file that requests are noted in")
	flags.Func("rule", "METHOD PATTERN ACTION [ARGUMENT]", func(text string) error {
		r, err := parseRule(text)
		p.rules = append(p.rules, r)
		return err
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	p.engine = strings.TrimPrefix(p.engine, "unix://")
	if *logFile != "" {
		f, err := os.Create(*logFile)
		if err != nil {
			return err
		}
		defer f.Close()
		p.log = f
	}
	listener, err := net.Listen("unix", *listen)
	if err != nil {
		return err
	}
	// Other users of a test come through here, too.
	if err := os.Chmod(*listen, 0o666); err != nil {
		return err
	}
	go p.serve(listener)
	select {
	case <-ctx.Done():
	case <-p.gone:
	}
	// The end of the process cuts the connections.
	return listener.Close()
}
