// Package engine talks to a Docker engine. It and its sub-package buildkit are
// the only ones that import Docker's modules, and none of Docker's types are in
// their API.
//
// Every method names, in its doc comment, the API calls it makes; each is
// reported to Options.Trace, so the cost of a launch can be counted.
package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"
)

// MinAPIVersion is the oldest engine API that is spoken: Docker 20.10.
const MinAPIVersion = "1.41"

// Options says which engine to open.
type Options struct {
	// Getenv looks up the caller's environment. It must not be nil.
	Getenv func(string) string
	// Home is the caller's home directory, where .docker is looked for when
	// DOCKER_CONFIG is not set. Empty means that there is none.
	Home string
	// Trace, if not nil, is told of every API call when it has ended: its name,
	// how long it took until the engine answered, and the error. It may be
	// called by several goroutines at once.
	Trace func(call string, d time.Duration, err error)
}

// Client is a connection to one engine. Its methods may be called by several
// goroutines at once.
type Client struct {
	api      *client.Client
	endpoint Endpoint
	clock    *clock
	// asked is the API version that the caller's environment asks for; empty if
	// the engine's is taken.
	asked string
	trace func(string, time.Duration, error)

	mu         sync.Mutex
	negotiated bool
}

// Open resolves the endpoint as the docker command does and prepares a client
// for it. It reads configuration files but makes no network call: an engine
// that does not answer is found out by the first method. The error is an
// *EndpointError.
func Open(_ context.Context, opts Options) (*Client, error) {
	ep, err := Resolve(opts)
	if err != nil {
		return nil, err
	}
	clientOpts, err := ep.clientOptions()
	if err != nil {
		return nil, &EndpointError{Source: ep.Source, Value: ep.Host, Err: err}
	}
	asked := opts.Getenv(versionVariable)
	if asked != "" {
		if !apiVersion.MatchString(asked) {
			return nil, &EndpointError{Source: versionVariable, Value: asked, Err: errors.New("this is no version of the API: unset it")}
		}
		clientOpts = append(clientOpts, client.WithVersion(asked))
	}
	api, err := client.NewClientWithOpts(clientOpts...)
	if err != nil {
		return nil, &EndpointError{Source: ep.Source, Value: ep.Host, Err: err}
	}
	watched, err := watchClock(api)
	if err != nil {
		return nil, &EndpointError{Source: ep.Source, Value: ep.Host, Err: err}
	}
	return &Client{api: api, endpoint: ep, clock: watched, asked: strings.TrimPrefix(asked, "v"), trace: opts.Trace}, nil
}

// versionVariable takes the place of the negotiation, as for the docker
// command.
const versionVariable = "DOCKER_API_VERSION"

var apiVersion = regexp.MustCompile(`^v?[0-9]+\.[0-9]+$`)

// Endpoint returns where the engine is.
func (c *Client) Endpoint() Endpoint { return c.endpoint }

// APIVersion returns the version that is spoken with the engine; empty before
// the first call.
func (c *Client) APIVersion() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.negotiated {
		return ""
	}
	return c.api.ClientVersion()
}

// Close drops idle connections. Attachments in use are not closed.
func (c *Client) Close() error { return c.api.Close() }

// ready settles the API version before the first call (Ping). A failed attempt
// is repeated by the next call.
func (c *Client) ready(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.negotiated {
		return nil
	}
	start := time.Now()
	ping, err := c.api.Ping(ctx)
	c.report("Ping", start, err)
	if err != nil {
		return c.wrap("ping", err)
	}
	c.api.NegotiateAPIVersionPing(ping)
	if err := c.checkVersion(ping.APIVersion); err != nil {
		return err
	}
	c.negotiated = true
	return nil
}

// checkVersion compares what is to be spoken with what is needed, and with the
// newest that the engine speaks.
func (c *Client) checkVersion(newest string) error {
	v := c.api.ClientVersion()
	switch {
	case newest != "" && versions.LessThan(newest, MinAPIVersion):
		return &VersionError{Endpoint: c.endpoint.Host, Version: newest, Required: MinAPIVersion}
	case versions.LessThan(v, MinAPIVersion), c.asked != "" && newest != "" && versions.GreaterThan(v, newest):
		return &VersionError{Endpoint: c.endpoint.Host, Version: v, Required: MinAPIVersion, Asked: c.asked != "", Newest: newest}
	}
	return nil
}

// call runs one API call: negotiated first, traced, its error typed.
func (c *Client) call(ctx context.Context, name string, f func() error) error {
	if err := c.ready(ctx); err != nil {
		return err
	}
	start := time.Now()
	err := f()
	c.report(name, start, err)
	return c.wrap(name, err)
}

func (c *Client) report(name string, start time.Time, err error) {
	if c.trace != nil {
		c.trace(name, time.Since(start), err)
	}
}

// Hijack opens a stream to the engine that speaks protocol proto after an
// HTTP upgrade of a POST to path (Hijack PATH). BuildKit is reached by it.
func (c *Client) Hijack(ctx context.Context, path, proto string, header map[string][]string) (net.Conn, error) {
	var conn net.Conn
	err := c.call(ctx, "Hijack "+path, func() (err error) {
		conn, err = c.api.DialHijack(ctx, path, proto, header)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open %s on the engine: %w", path, err)
	}
	return conn, nil
}
