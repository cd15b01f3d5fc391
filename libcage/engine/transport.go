package engine

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/cli/cli/connhelper"
	"github.com/docker/docker/client"
)

// tlsMaterial is what a TLS connection to an engine needs. All of it may be
// absent: then the system's roots vouch for the engine.
type tlsMaterial struct {
	ca, cert, key []byte
	// insecure accepts any certificate of the engine.
	insecure bool
}

// loadTLSMaterial reads ca.pem, cert.pem and key.pem, each if it is there.
func loadTLSMaterial(dir string, insecure bool) (*tlsMaterial, error) {
	m := &tlsMaterial{insecure: insecure}
	for name, to := range map[string]*[]byte{"ca.pem": &m.ca, "cert.pem": &m.cert, "key.pem": &m.key} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		*to = text
	}
	return m, nil
}

func (m *tlsMaterial) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: m.insecure} //nolint:gosec // the caller asked for it, as for the docker command
	if len(m.ca) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(m.ca) {
			return nil, errors.New("ca.pem holds no certificate")
		}
	}
	if len(m.cert) > 0 || len(m.key) > 0 {
		pair, err := tls.X509KeyPair(m.cert, m.key)
		if err != nil {
			return nil, fmt.Errorf("cert.pem and key.pem: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// clientOptions says how the API client reaches the endpoint.
func (e Endpoint) clientOptions() ([]client.Opt, error) {
	if strings.HasPrefix(e.Host, "ssh://") {
		helper, err := connhelper.GetConnectionHelper(e.Host)
		if err != nil {
			return nil, err
		}
		return []client.Opt{
			client.WithHTTPClient(&http.Client{Transport: &http.Transport{DialContext: helper.Dialer}}),
			client.WithHost(helper.Host),
			client.WithDialContext(helper.Dialer),
		}, nil
	}
	if e.tls == nil || e.Local() {
		return []client.Opt{client.WithHost(e.Host)}, nil
	}
	config, err := e.tls.config()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return []client.Opt{
		client.WithHTTPClient(&http.Client{
			Transport:     &http.Transport{TLSClientConfig: config, DialContext: dialer.DialContext},
			CheckRedirect: client.CheckRedirect,
		}),
		client.WithHost(e.Host),
	}, nil
}
