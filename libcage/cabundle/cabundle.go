// Package cabundle finds the certificates that the host trusts, so that a
// build and a box behind a company's TLS proxy trust them too.
package cabundle

import (
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

// Find returns the host's certificates. It is empty if the host has none. An
// error names the variable whose file cannot be used.
func Find(getenv func(string) string, readFile func(string) ([]byte, error)) (Bundle, error) {
	var all Bundle
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
		found := Parse(data)
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: %s holds no PEM certificate: unset it or let it name a PEM file", v, path)
		}
		all = append(all, found.Without(all.IDs())...)
	}
	if len(named) > 0 {
		return all, nil
	}
	for _, path := range system {
		data, err := readFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return Parse(data), nil
	}
	return nil, nil
}
