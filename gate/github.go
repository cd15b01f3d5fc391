package gate

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// GitHub says whom gh-issue may talk to, and about what.
type GitHub struct {
	Repositories []Repository
	API          *url.URL // of REST, with a slash at the end
	GraphQL      *url.URL
}

// Repository is a repository's full name.
type Repository struct{ Owner, Name string }

func (r Repository) String() string { return r.Owner + "/" + r.Name }

// Same compares as GitHub does, which folds case.
func (r Repository) Same(other Repository) bool {
	return strings.EqualFold(r.Owner, other.Owner) && strings.EqualFold(r.Name, other.Name)
}

// github is the table of gate.toml. All keys are optional.
type github struct {
	// Repositories are those that may be named, OWNER/NAME.
	Repositories []string `toml:"repositories"`
	// URL is that of a GitHub Enterprise server; absent, it is github.com.
	URL string `toml:"url"`
	// PlainLoopback allows http in URL where the host is this machine.
	PlainLoopback bool `toml:"plain-loopback"`
}

// publicAPI is the API of github.com.
const publicAPI = "https://api.github.com"

func (g github) parse() (GitHub, error) {
	var out GitHub
	for _, name := range g.Repositories {
		r, err := ParseRepository(name)
		if err != nil {
			return GitHub{}, fmt.Errorf("repositories: %w", err)
		}
		out.Repositories = append(out.Repositories, r)
	}
	text := g.URL
	if text == "" {
		text = publicAPI
	}
	u, err := serverURL(text, g.PlainLoopback)
	if err != nil {
		return GitHub{}, fmt.Errorf("url: %w", err)
	}
	// github.com and its relatives have a host for the API alone; a server of
	// one's own has it below /api.
	rest, graph := "/", "/graphql"
	if !strings.HasPrefix(u.Host, "api.") {
		rest, graph = "/api/v3/", "/api/graphql"
	}
	out.API = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: rest}
	out.GraphQL = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: graph}
	return out, nil
}

func serverURL(text string, plainLoopback bool) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		// The parser's error quotes the text, which may hold a password.
		return nil, errors.New("not a URL")
	}
	path := strings.TrimSuffix(u.Path, "/")
	switch {
	case u.User != nil:
		return nil, errors.New("it holds a login")
	case u.Hostname() == "" || u.Opaque != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" ||
		path != "" && path != "/api/v3":
		return nil, fmt.Errorf("%q is not of the form https://HOST", text)
	case u.Scheme == "https":
	case u.Scheme == "http" && plainLoopback && isLoopback(u.Hostname()):
	default:
		return nil, fmt.Errorf("%q is not https", text)
	}
	u.Host = strings.ToLower(u.Host)
	if u.Host == "github.com" || u.Host == "www.github.com" {
		u.Host = "api.github.com"
	}
	return u, nil
}

// isLoopback knows addresses only: a name is whatever a resolver says.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// ParseRepository reads OWNER/NAME. What it accepts is safe as two elements
// of a URL's path.
func ParseRepository(s string) (Repository, error) {
	owner, name, ok := strings.Cut(s, "/")
	if !ok || !repositoryWord(owner) || !repositoryWord(name) {
		return Repository{}, fmt.Errorf("%q is not OWNER/NAME", s)
	}
	return Repository{Owner: owner, Name: name}, nil
}

func repositoryWord(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	return s != "" && len(s) <= 100 && s != "." && s != ".." && strings.Trim(s, letters) == ""
}
