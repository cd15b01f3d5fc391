package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	contextmeta "github.com/docker/cli/cli/context"
	"github.com/docker/cli/cli/context/store"
)

// defaultHost is where an engine listens unless somebody says otherwise.
const defaultHost = "unix:///var/run/docker.sock"

// Endpoint is where an engine is and how it is reached.
type Endpoint struct {
	// Host is a URL with the scheme unix, tcp, ssh or http.
	Host string
	// Source says what named it, for a person: a variable, a context, the
	// default.
	Source string

	tls *tlsMaterial
}

// String is the Host without a password that it may have.
func (e Endpoint) String() string { return withoutPassword(e.Host, e.Host) }

// SocketPath returns the path of the socket of a unix endpoint, else "".
func (e Endpoint) SocketPath() string {
	path, ok := strings.CutPrefix(e.Host, "unix://")
	if !ok {
		return ""
	}
	return path
}

// Local reports whether the engine listens on a socket of this machine. It may
// still run in a VM and not see this machine's files.
func (e Endpoint) Local() bool { return e.SocketPath() != "" }

// Resolve finds the endpoint in the order of the docker command: DOCKER_HOST,
// DOCKER_CONTEXT, the current context of the configuration file, the default
// socket. It reads files and makes no network call. The error is an
// *EndpointError.
func Resolve(opts Options) (Endpoint, error) {
	dir := configDir(opts)
	if host := opts.Getenv("DOCKER_HOST"); host != "" {
		return hostEndpoint(opts, dir, host, "DOCKER_HOST")
	}
	if name := opts.Getenv("DOCKER_CONTEXT"); name != "" {
		return contextEndpoint(opts, dir, name, "DOCKER_CONTEXT")
	}
	name, err := currentContext(dir)
	if err != nil {
		return Endpoint{}, &EndpointError{Source: filepath.Join(dir, "config.json"), Err: err}
	}
	return contextEndpoint(opts, dir, name, filepath.Join(dir, "config.json"))
}

// configDir returns the docker command's configuration directory, or "" when
// there is no home directory.
func configDir(opts Options) string {
	if dir := opts.Getenv("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	if opts.Home == "" {
		return ""
	}
	return filepath.Join(opts.Home, ".docker")
}

// currentContext reads the name of the current context; "" if none is set.
func currentContext(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	text, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var config struct {
		CurrentContext string `json:"currentContext"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return "", err
	}
	return config.CurrentContext, nil
}

// contextEndpoint resolves a context by name. "default" is not stored: it
// stands for the environment and the default socket.
func contextEndpoint(opts Options, dir, name, source string) (Endpoint, error) {
	if name == "" || name == "default" {
		return hostEndpoint(opts, dir, defaultHost, "the default socket")
	}
	fail := func(err error) (Endpoint, error) {
		return Endpoint{}, &EndpointError{Source: source, Value: name, Err: err}
	}
	contexts := store.New(filepath.Join(dir, "contexts"), store.NewConfig(
		func() any { return &map[string]any{} },
		store.EndpointTypeGetter("docker", func() any { return &contextmeta.EndpointMetaBase{} }),
	))
	metadata, err := contexts.GetMetadata(name)
	if err != nil {
		return fail(err)
	}
	meta, ok := metadata.Endpoints["docker"].(contextmeta.EndpointMetaBase)
	if !ok {
		return fail(errors.New("the context has no docker endpoint"))
	}
	material, err := contextmeta.LoadTLSData(contexts, name, "docker")
	if err != nil {
		return fail(err)
	}
	ep := Endpoint{Source: fmt.Sprintf("context %q of %s", name, source)}
	if material != nil || meta.SkipTLSVerify {
		ep.tls = &tlsMaterial{insecure: meta.SkipTLSVerify}
	}
	if material != nil {
		ep.tls.ca, ep.tls.cert, ep.tls.key = material.CA, material.Cert, material.Key
	}
	if ep.Host, err = normalizeHost(meta.Host, ep.tls != nil); err != nil {
		return fail(err)
	}
	return ep, nil
}

// hostEndpoint makes an endpoint of a host as DOCKER_HOST has it.
func hostEndpoint(opts Options, dir, host, source string) (Endpoint, error) {
	ep := Endpoint{Source: source}
	verify := opts.Getenv("DOCKER_TLS_VERIFY") != ""
	withTLS := verify || opts.Getenv("DOCKER_TLS") != ""
	var err error
	if ep.Host, err = normalizeHost(host, withTLS); err != nil {
		return Endpoint{}, &EndpointError{Source: source, Value: host, Err: err}
	}
	if !withTLS || !strings.HasPrefix(ep.Host, "tcp://") {
		return ep, nil
	}
	certs := opts.Getenv("DOCKER_CERT_PATH")
	if certs == "" {
		certs = dir
	}
	if ep.tls, err = loadTLSMaterial(certs, !verify); err != nil {
		return Endpoint{}, &EndpointError{Source: source, Value: host, Err: err}
	}
	return ep, nil
}

// normalizeHost adds the scheme and the port that the docker command assumes.
func normalizeHost(host string, withTLS bool) (string, error) {
	host = strings.TrimSpace(host)
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = "tcp", host
	}
	switch scheme {
	case "unix":
		if rest == "" {
			return defaultHost, nil
		}
		if !filepath.IsAbs(rest) {
			return "", errors.New("the path of a socket must be absolute")
		}
		return "unix://" + rest, nil
	case "tcp":
		return tcpHost(rest, withTLS)
	case "ssh", "http", "https":
		return scheme + "://" + rest, nil
	}
	return "", fmt.Errorf("the scheme %q is not one of unix, tcp, ssh", scheme)
}

func tcpHost(rest string, withTLS bool) (string, error) {
	address, path, _ := strings.Cut(rest, "/")
	if path != "" {
		path = "/" + path
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = strings.Trim(address, "[]"), ""
	}
	if host == "" {
		host = "localhost"
	}
	if port == "" {
		port = "2375"
		if withTLS {
			port = "2376"
		}
	}
	if strings.ContainsAny(host, " \t\n") {
		return "", errors.New("the host name has blanks in it")
	}
	return "tcp://" + net.JoinHostPort(host, port) + path, nil
}
