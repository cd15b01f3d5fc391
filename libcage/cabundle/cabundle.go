// Package cabundle finds the certificates that the host trusts, so that a
// build and a box behind a company's TLS proxy trust them too.
package cabundle

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// variables name a bundle; all that are set count.
var variables = []string{"CAGE_CA_BUNDLE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"}

// system are where the distributions keep their bundle; the first that exists
// counts, and only if neither of the first two variables is set. There is none on a Mac, whose
// certificates are not in a file.
var system = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// ReadFile reads a regular file. Anything else that a variable might name, a
// FIFO, would keep a launcher waiting.
func ReadFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	return io.ReadAll(io.LimitReader(f, maxBundle))
}

// maxBundle bounds what is read of a file, in bytes.
const maxBundle = 16 << 20

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
	// What is called extra takes nothing away.
	if getenv("CAGE_CA_BUNDLE") != "" || getenv("SSL_CERT_FILE") != "" {
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
		return append(all, Parse(data).Without(all.IDs())...), nil
	}
	return all, nil
}
