// Command scripted-api is a server for tests: it stands in for the Anthropic
// Messages API and the OpenAI Responses API and answers from a script, so that
// real clients run tool calls that a test has chosen.
//
//	scripted-api --listen 127.0.0.1:0 --port-file F --script FILE [--var NAME=VALUE]... [--record FILE] [--log FILE]
//
// It listens on loopback alone. Once it does, the port is in the port file. On
// SIGTERM or SIGINT it stops; it then exits with 1 and says why if a request
// was not as the script expects or a conversation was not had to its end, and
// with 0 otherwise. It exits with 2 if it could not start.
//
// The documentation of package scriptedapi describes scripts and the record.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}
