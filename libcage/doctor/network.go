package doctor

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/agent-cage/agent-cage/libcage/cabundle"
)

// proxies are the variables that name one.
var proxies = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}

func (e *examination) lookAtNetwork() {
	bundle, err := cabundle.Find(e.Getenv, cabundle.ReadFile)
	switch count := len(bundle); {
	case err != nil:
		e.find("ca", Problem, err.Error(), "let the variable name a readable PEM file, or unset it")
	case count == 0:
		e.find("ca", Note, "this machine's certificates are not in a file: a box trusts the public ones", "behind a TLS proxy, let CAGE_CA_BUNDLE name a PEM file with its authority")
	default:
		e.find("ca", OK, fmt.Sprintf("%d certificates are taken into builds and boxes", count), "")
	}
	e.lookAtProxies()
}

func (e *examination) lookAtProxies() {
	const code = "proxy"
	var good []string
	bad := false
	for _, name := range proxies {
		value := e.Getenv(name)
		if value == "" {
			continue
		}
		u, err := url.Parse(value)
		switch {
		case err != nil || u.Host == "":
			bad = true
			// The value may hold a password and is not repeated.
			e.find(code, Warning, name+" is no URL", "set it to http://HOST:PORT")
		case isLoopback(u.Hostname()):
			bad = true
			e.find(code, Warning, fmt.Sprintf("%s is %s: this machine's loopback is not a box's", name, u.Redacted()),
				"let the proxy listen on an address that containers reach, or start boxes with --network host")
		default:
			good = append(good, name+" is "+u.Redacted())
		}
	}
	switch {
	case len(good) > 0:
		e.find(code, OK, strings.Join(good, ", "), "")
	case !bad:
		e.find(code, OK, "none", "")
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
