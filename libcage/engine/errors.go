package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/client"
)

// What a *ResponseError is, for errors.Is.
var (
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("conflict")
	ErrInvalid  = errors.New("invalid argument")
	ErrDenied   = errors.New("permission denied")
)

// EndpointError is a setting that names no usable engine.
type EndpointError struct {
	// Source is the variable or file with the setting.
	Source string
	// Value is the host or the context that it names.
	Value string
	Err   error
}

func (e *EndpointError) Error() string {
	return withoutPassword(fmt.Sprintf("engine endpoint %q of %s: %v", e.Value, e.Source, e.Err), e.Value)
}

func (e *EndpointError) Unwrap() error { return e.Err }

// UnreachableError is an engine that does not answer, or that went away while
// a call was waiting for it.
type UnreachableError struct {
	Endpoint string
	Err      error
}

func (e *UnreachableError) Error() string {
	return withoutPassword(fmt.Sprintf("no engine answers at %s: %v", e.Endpoint, e.Err), e.Endpoint)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// VersionError is an engine that is too old, or a setting that asks for an API
// which is not spoken by both sides.
type VersionError struct {
	Endpoint string
	// Version is the API that would be spoken: the newest of the engine's, or
	// that of the setting.
	Version string
	// Required is the oldest one that is spoken here.
	Required string
	// Asked says that DOCKER_API_VERSION asks for Version. Newest is then the
	// newest that the engine speaks; empty if it does not say.
	Asked  bool
	Newest string
}

func (e *VersionError) Error() string {
	if e.Asked {
		speaks := "at least " + e.Required + " is needed"
		if e.Newest != "" {
			speaks += ", and the engine at " + e.Endpoint + " speaks " + e.Newest + " at most"
		}
		return withoutPassword(fmt.Sprintf("%s asks for API %s, but %s: unset it", versionVariable, e.Version, speaks), e.Endpoint)
	}
	text := fmt.Sprintf("the engine at %s speaks API %s, at least %s (Docker 20.10) is needed", e.Endpoint, e.Version, e.Required)
	return withoutPassword(text, e.Endpoint)
}

// passwordIn finds that of a URL, also of one that cannot be parsed.
var passwordIn = regexp.MustCompile(`^[a-z]+://[^/@:]*:([^/@]+)@`)

// withoutPassword stars the password of an endpoint wherever text has it: the
// API client and what it calls name the endpoint in their errors.
func withoutPassword(text, endpoint string) string {
	found := passwordIn.FindStringSubmatch(endpoint)
	if found == nil {
		return text
	}
	shown := strings.ReplaceAll(text, ":"+found[1]+"@", ":xxxxx@")
	if plain, err := url.PathUnescape(found[1]); err == nil {
		shown = strings.ReplaceAll(shown, ":"+plain+"@", ":xxxxx@")
	}
	return shown
}

// ResponseError is a request that the engine refused. It matches one of
// ErrNotFound, ErrConflict, ErrInvalid and ErrDenied if the engine said so.
type ResponseError struct {
	// Call is the API call, as in Options.Trace.
	Call string
	// Message is the engine's own text.
	Message string
	kind    error
	cause   error
}

func (e *ResponseError) Error() string {
	return fmt.Sprintf("%s: %s", e.Call, e.Message)
}

// Is reports whether the engine gave target as the kind of the failure.
func (e *ResponseError) Is(target error) bool { return e.kind != nil && target == e.kind }

func (e *ResponseError) Unwrap() error { return e.cause }

// NoSpace reports whether err says that a disk is full, be it the engine's or
// the caller's.
func NoSpace(err error) bool {
	return err != nil && SaysNoSpace(err.Error())
}

// SaysNoSpace reports whether a text of the engine says that a disk is full.
func SaysNoSpace(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "no space left on device") || strings.Contains(text, "disk quota exceeded")
}

// wrap gives an error of the API client its type. Cancellation stays what it
// is.
func (c *Client) wrap(call string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case isConnectionError(err):
		return &UnreachableError{Endpoint: c.endpoint.Host, Err: err}
	}
	return &ResponseError{Call: call, Message: daemonText(err), kind: kindOf(err), cause: err}
}

func isConnectionError(err error) bool {
	var netErr net.Error
	return client.IsErrConnectionFailed(err) ||
		errors.As(err, &netErr) ||
		errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed)
}

func kindOf(err error) error {
	switch {
	case cerrdefs.IsNotFound(err):
		return ErrNotFound
	case cerrdefs.IsConflict(err):
		return ErrConflict
	case cerrdefs.IsInvalidArgument(err):
		return ErrInvalid
	case cerrdefs.IsPermissionDenied(err), cerrdefs.IsUnauthorized(err):
		return ErrDenied
	}
	return nil
}

// daemonText drops what the API client puts before the engine's own words.
func daemonText(err error) string {
	return strings.TrimPrefix(err.Error(), "Error response from daemon: ")
}
