// Package cabundle finds the certificates that the host trusts, so that a
// build and a box behind a company's TLS proxy trust them too.
package cabundle

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// variables name a bundle; all that are set count.
var variables = []string{"CAGE_CA_BUNDLE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"}

// system are where the distributions keep their bundle; the first that exists
// counts, and only if no variable is set. There is none on a Mac, whose
// certificates are not in a file.
var system = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// Find returns the host's certificates as PEM, each once, and nothing else
// that a file may hold, such as a key. It is empty if the host has none. An
// error names the variable whose file cannot be used.
func Find(getenv func(string) string, readFile func(string) ([]byte, error)) ([]byte, error) {
	var all bundle
	named := map[string]bool{}
	for _, v := range variables {
		path := getenv(v)
		if path == "" || named[filepath.Clean(path)] {
			continue
		}
		named[filepath.Clean(path)] = true
		data, err := readFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: unset it or let it name a readable PEM file", v, err)
		}
		if all.add(data) == 0 {
			return nil, fmt.Errorf("%s: %s holds no PEM certificate: unset it or let it name a PEM file", v, path)
		}
	}
	if len(named) > 0 {
		return all.out.Bytes(), nil
	}
	for _, path := range system {
		data, err := readFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all.add(data)
		break
	}
	return all.out.Bytes(), nil
}

// bundle collects certificates.
type bundle struct {
	out  bytes.Buffer
	seen map[string]bool
}

// add takes the certificates out of a PEM file and returns how many it has.
func (b *bundle) add(data []byte) (found int) {
	if b.seen == nil {
		b.seen = map[string]bool{}
	}
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return found
		}
		if block.Type != "CERTIFICATE" && block.Type != "TRUSTED CERTIFICATE" {
			continue
		}
		found++
		if b.seen[string(block.Bytes)] {
			continue
		}
		b.seen[string(block.Bytes)] = true
		_ = pem.Encode(&b.out, &pem.Block{Type: block.Type, Bytes: block.Bytes}) // a Buffer takes all
	}
}
