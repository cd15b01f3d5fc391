package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	contextmeta "github.com/docker/cli/cli/context"
	"github.com/docker/cli/cli/context/store"
)

// dockerDir makes a configuration directory with the contexts "vm" (a socket),
// "far" (TLS) and "bare" (no docker endpoint).
func dockerDir(t *testing.T, config string) string {
	dir := t.TempDir()
	if config != "" {
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	contexts := store.New(filepath.Join(dir, "contexts"), store.NewConfig(func() any { return &map[string]any{} }))
	for name, endpoints := range map[string]map[string]any{
		"vm":   {"docker": contextmeta.EndpointMetaBase{Host: "unix:///vm/docker.sock"}},
		"far":  {"docker": contextmeta.EndpointMetaBase{Host: "tcp://far"}},
		"bare": {},
	} {
		if err := contexts.CreateOrUpdate(store.Metadata{Name: name, Metadata: map[string]any{}, Endpoints: endpoints}); err != nil {
			t.Fatal(err)
		}
	}
	if err := contexts.ResetEndpointTLSMaterial("far", "docker", &store.EndpointTLSData{Files: map[string][]byte{"ca.pem": []byte("the ca")}}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestResolve(t *testing.T) {
	for name, test := range map[string]struct {
		env    map[string]string
		config string
		host   string
		source string
		ca     string
		fails  bool
	}{
		"nothing set":               {host: "unix:///var/run/docker.sock", source: "default socket"},
		"DOCKER_HOST":               {env: map[string]string{"DOCKER_HOST": "unix:///x.sock"}, host: "unix:///x.sock", source: "DOCKER_HOST"},
		"DOCKER_HOST goes first":    {env: map[string]string{"DOCKER_HOST": "unix:///x.sock", "DOCKER_CONTEXT": "vm"}, config: `{"currentContext":"far"}`, host: "unix:///x.sock", source: "DOCKER_HOST"},
		"DOCKER_CONTEXT":            {env: map[string]string{"DOCKER_CONTEXT": "vm"}, config: `{"currentContext":"far"}`, host: "unix:///vm/docker.sock", source: `context "vm"`},
		"current context":           {config: `{"currentContext":"vm"}`, host: "unix:///vm/docker.sock", source: `context "vm"`},
		"current context with TLS":  {config: `{"currentContext":"far"}`, host: "tcp://far:2376", source: `context "far"`, ca: "the ca"},
		"the default context":       {env: map[string]string{"DOCKER_CONTEXT": "default"}, config: `{"currentContext":"far"}`, host: "unix:///var/run/docker.sock"},
		"no such context":           {env: map[string]string{"DOCKER_CONTEXT": "none"}, fails: true},
		"no docker endpoint":        {env: map[string]string{"DOCKER_CONTEXT": "bare"}, fails: true},
		"broken configuration":      {config: `{`, fails: true},
		"tcp without port":          {env: map[string]string{"DOCKER_HOST": "tcp://h"}, host: "tcp://h:2375"},
		"no scheme":                 {env: map[string]string{"DOCKER_HOST": "h:99"}, host: "tcp://h:99"},
		"IPv6":                      {env: map[string]string{"DOCKER_HOST": "tcp://[::1]:99"}, host: "tcp://[::1]:99"},
		"IPv6 without port":         {env: map[string]string{"DOCKER_HOST": "tcp://[::1]"}, host: "tcp://[::1]:2375"},
		"ssh":                       {env: map[string]string{"DOCKER_HOST": "ssh://u@h:22"}, host: "ssh://u@h:22"},
		"unknown scheme":            {env: map[string]string{"DOCKER_HOST": "gopher://h"}, fails: true},
		"relative socket":           {env: map[string]string{"DOCKER_HOST": "unix://x"}, fails: true},
		"TLS":                       {env: map[string]string{"DOCKER_HOST": "tcp://h", "DOCKER_TLS_VERIFY": "1"}, host: "tcp://h:2376"},
		"TLS is nothing to sockets": {env: map[string]string{"DOCKER_HOST": "unix:///x.sock", "DOCKER_TLS_VERIFY": "1"}, host: "unix:///x.sock"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := dockerDir(t, test.config)
			ep, err := Resolve(Options{Getenv: func(name string) string {
				if name == "DOCKER_CONFIG" {
					return dir
				}
				return test.env[name]
			}})
			if test.fails {
				var endpointErr *EndpointError
				if !errors.As(err, &endpointErr) {
					t.Errorf("%+v, %v", ep, err)
				}
				return
			}
			if err != nil || ep.Host != test.host || !strings.Contains(ep.Source, test.source) {
				t.Errorf("%+v, %v", ep, err)
			}
			if ep.tls != nil && string(ep.tls.ca) != test.ca {
				t.Errorf("CA %q", ep.tls.ca)
			}
			if strings.HasPrefix(name, "TLS is nothing") && ep.tls != nil {
				t.Error("TLS on a socket")
			}
		})
	}
}

func TestConfigurationOfTheHomeDirectory(t *testing.T) {
	home := t.TempDir()
	if err := os.Rename(dockerDir(t, `{"currentContext":"vm"}`), filepath.Join(home, ".docker")); err != nil {
		t.Fatal(err)
	}
	none := func(string) string { return "" }
	ep, err := Resolve(Options{Getenv: none, Home: home})
	if err != nil || ep.SocketPath() != "/vm/docker.sock" || !ep.Local() {
		t.Errorf("%+v, %v", ep, err)
	}
	if ep, err := Resolve(Options{Getenv: none}); err != nil || ep.Host != defaultHost {
		t.Errorf("without a home: %+v, %v", ep, err)
	}
}
