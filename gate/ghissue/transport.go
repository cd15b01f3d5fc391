package ghissue

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/agent-cage/agent-cage/gate"
	"github.com/agent-cage/agent-cage/zone"
)

const (
	tries      = 3                      // of a request that changes nothing
	backoff    = 500 * time.Millisecond // before the second; then twice as long each time
	maxAnswer  = 32 << 20               // bytes
	maxHops    = 3                      // redirects
	dialWithin = 10 * time.Second
)

// border is what the token is for: one repository of one server.
type border struct {
	api, graphql *url.URL
	repo         gate.Repository
}

// holds reports whether a request stays within the border.
func (b border) holds(method string, u *url.URL) bool {
	if u.Scheme != b.api.Scheme || u.Host != b.api.Host || u.User != nil {
		return false
	}
	escaped := u.EscapedPath()
	for _, part := range strings.Split(u.Path, "/") {
		if part == "." || part == ".." {
			return false
		}
	}
	if escaped == b.graphql.Path {
		return method == http.MethodPost
	}
	repo := strings.ToLower(b.api.Path + "repos/" + b.repo.String())
	escaped = strings.ToLower(escaped)
	return escaped == repo || strings.HasPrefix(escaped, repo+"/")
}

// movedError is a redirect that is not followed.
type movedError struct {
	to     *url.URL
	change bool // the request would have changed something
}

func (e *movedError) Error() string {
	to := url.URL{Scheme: e.to.Scheme, Host: e.to.Host, Path: e.to.Path}
	if e.change {
		return fmt.Sprintf("redirected to %s, and a change is not sent elsewhere", &to)
	}
	return fmt.Sprintf("redirected to %s, which is not in the repository", &to)
}

// redirect follows a few redirects of what only reads, within the border.
func (b border) redirect(req *http.Request, via []*http.Request) error {
	switch first := via[0]; {
	case first.Method != http.MethodGet:
		return &movedError{to: req.URL, change: true}
	case !b.holds(req.Method, req.URL):
		return &movedError{to: req.URL}
	case len(via) > maxHops:
		return errors.New("too many redirects")
	}
	return nil
}

// courier takes requests to the server: it keeps them within the border, adds
// the token, and tries again what failed and changes nothing.
type courier struct {
	border
	token string
	next  http.RoundTripper
	sleep func(*http.Request, time.Duration) error
	last  *lastRequest
}

func (c *courier) RoundTrip(req *http.Request) (*http.Response, error) {
	if !c.holds(req.Method, req.URL) {
		return nil, fmt.Errorf("%s is not in the repository %s", req.URL.Path, c.repo)
	}
	c.last.changes = req.Method != http.MethodGet
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+c.token)
	wait := backoff
	for n := 1; ; n++ {
		resp, err := c.next.RoundTrip(req)
		if req.Method != http.MethodGet || n == tries || !passing(req, resp, err) {
			if err == nil {
				resp.Body = &bounded{resp.Body, maxAnswer}
			}
			return resp, err
		}
		if err == nil {
			_ = resp.Body.Close()
		}
		if err := c.sleep(req, wait); err != nil {
			return nil, err
		}
		wait *= 2
	}
}

// passing reports whether a failure may be over soon.
func passing(req *http.Request, resp *http.Response, err error) bool {
	if err != nil {
		var untrusted *tls.CertificateVerificationError
		return req.Context().Err() == nil && !errors.As(err, &untrusted)
	}
	switch resp.StatusCode {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// bounded is an answer's body that fails where it grows too large.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("the answer is larger than %d bytes", maxAnswer)
	}
	return n, err
}

// httpClient returns one that can reach the border and nothing else.
func (e Env) httpClient(b border, z zone.Zone, token string) (*http.Client, error) {
	if err := e.trustedRoots(z); err != nil {
		return nil, err
	}
	either := func(name string) string {
		if v := e.getenv(name); v != "" {
			return v
		}
		return e.getenv(strings.ToLower(name))
	}
	// Plain http is for loopback, to which no proxy goes.
	proxy := (&httpproxy.Config{HTTPSProxy: either("HTTPS_PROXY"), NoProxy: either("NO_PROXY")}).ProxyFunc()
	return &http.Client{
		CheckRedirect: b.redirect,
		Transport: &courier{
			border: b, token: token, last: e.last,
			sleep: func(req *http.Request, d time.Duration) error { return e.Sleep(req.Context(), d) },
			next: &http.Transport{
				Proxy:                 func(req *http.Request) (*url.URL, error) { return proxy(req.URL) },
				DialContext:           (&net.Dialer{Timeout: dialWithin}).DialContext,
				TLSHandshakeTimeout:   dialWithin,
				ResponseHeaderTimeout: e.Answer,
				ForceAttemptHTTP2:     true,
			},
		},
	}, nil
}

// trustedRoots refuses certificates that caged commands could have written:
// whoever signs for the server reads the token.
func (e Env) trustedRoots(z zone.Zone) error {
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		for _, p := range filepath.SplitList(e.getenv(name)) {
			if p == "" {
				continue
			}
			if !filepath.IsAbs(p) {
				p = filepath.Join(e.Dir, p)
			}
			real, err := filepath.EvalSymlinks(p)
			if err != nil {
				real = filepath.Clean(p)
			}
			_, named := outermost(z, filepath.Clean(p))
			_, resolved := outermost(z, real)
			if named || resolved {
				return fmt.Errorf("%s names %s, which is in the zone", name, p)
			}
		}
	}
	return nil
}
