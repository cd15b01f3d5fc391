package cabundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
)

// Bundle are certificates in the order in which they were found, each once.
type Bundle []Certificate

// Certificate is one of a bundle.
type Certificate struct {
	ID ID
	// DER is the certificate itself.
	DER []byte
}

// ID tells certificates apart: the first half of the SHA-256 of the DER.
type ID [sha256.Size / 2]byte

// Parse returns the certificates of a PEM file, and nothing else that it may
// hold, such as a key.
func Parse(data []byte) Bundle {
	var b Bundle
	seen := map[ID]bool{}
	for {
		der, rest, ok := next(data)
		if !ok {
			return b
		}
		data = rest
		if c := newCertificate(der); der != nil && !seen[c.ID] {
			seen[c.ID] = true
			b = append(b, c)
		}
	}
}

// PEM returns the bundle as a file has it.
func (b Bundle) PEM() []byte {
	var out bytes.Buffer
	for _, c := range b {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: c.DER}) // a Buffer takes all
	}
	return out.Bytes()
}

// IDs returns those of the certificates, in their order.
func (b Bundle) IDs() []ID {
	ids := make([]ID, len(b))
	for i, c := range b {
		ids[i] = c.ID
	}
	return ids
}

// Without returns the certificates that are not among known.
func (b Bundle) Without(known []ID) Bundle {
	has := make(map[ID]bool, len(known))
	for _, id := range known {
		has[id] = true
	}
	var rest Bundle
	for _, c := range b {
		if !has[c.ID] {
			rest = append(rest, c)
		}
	}
	return rest
}

var (
	begin       = []byte("-----BEGIN ")
	end         = []byte("-----END ")
	dashes      = []byte("-----")
	certificate = []byte("CERTIFICATE")
	trusted     = []byte("TRUSTED CERTIFICATE")
)

// next returns the certificate of the first PEM block, nil if that is not one,
// and what follows. It is package pem's Decode for certificates alone, which
// have no headers, in less time: it is on the way of each launch, in the
// launcher and in the box.
func next(data []byte) (der, rest []byte, ok bool) {
	_, after, ok := bytes.Cut(data, begin)
	if !ok {
		return nil, nil, false
	}
	label, after, ok := bytes.Cut(after, dashes)
	if !ok {
		return nil, nil, false
	}
	body, _, ok := bytes.Cut(after, end)
	if !ok {
		return nil, nil, false
	}
	return decode(label, body), after[len(body):], true
}

func newCertificate(der []byte) Certificate {
	sum := sha256.Sum256(der)
	return Certificate{ID: ID(sum[:len(ID{})]), DER: der}
}

// decode returns the certificate of a block; nil if it has none.
func decode(label, body []byte) []byte {
	extended := bytes.Equal(label, trusted)
	if !extended && !bytes.Equal(label, certificate) {
		return nil
	}
	if bytes.ContainsAny(body, " \t") {
		body = bytes.Join(bytes.Fields(body), nil)
	}
	der := make([]byte, base64.StdEncoding.DecodedLen(len(body)))
	n, err := base64.StdEncoding.Decode(der, body)
	if err != nil || n == 0 {
		return nil
	}
	if der = der[:n]; !extended {
		return der
	}
	// OpenSSL's own kind has its settings behind the certificate.
	var first asn1.RawValue
	if _, err := asn1.Unmarshal(der, &first); err != nil {
		return nil
	}
	return first.FullBytes
}
