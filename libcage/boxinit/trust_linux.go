package boxinit

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/cabundle"
)

const (
	systemBundle = "/etc/ssl/certs/ca-certificates.crt"
	// mergedBundle is the image's certificates and the run's, extraBundle what
	// the run has beyond them.
	mergedBundle = needs.RunDir + "/ca-certificates.crt"
	extraBundle  = needs.ExtraCAFile
)

// readTrust notes the certificates of the image.
func (b *box) readTrust() (err error) {
	b.systemTrust, err = os.ReadFile(filepath.Join(b.root, systemBundle))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	b.trusted = cabundle.Parse(b.systemTrust)
	return nil
}

// extendTrust makes the box trust the certificates of the run. They are in
// memory; the system's bundle becomes a link to them, for programs that are
// started without the variables.
func (b *box) extendTrust() error {
	extra := cabundle.Parse([]byte(b.run.CABundle)).Without(b.trusted.IDs()).PEM()
	if len(extra) == 0 {
		return nil
	}
	merged := b.systemTrust
	if len(merged) > 0 && merged[len(merged)-1] != '\n' {
		merged = append(merged, '\n')
	}
	merged = append(merged, extra...)
	uid, gid := uint32(os.Getuid()), uint32(os.Getgid())
	if err := replaceFile(b.root, mergedBundle, merged, 0o755, 0o644, uid, gid); err != nil {
		return err
	}
	if err := replaceFile(b.root, extraBundle, extra, 0o755, 0o644, uid, gid); err != nil {
		return err
	}
	if err := b.linkBundle(); err != nil {
		return err
	}
	for _, name := range []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE", "CAGE_CA_BUNDLE"} {
		b.trust = append(b.trust, name+"="+mergedBundle)
	}
	// Node adds this file to its own list, and reads it at each start.
	b.trust = append(b.trust, "NODE_EXTRA_CA_CERTS="+extraBundle)
	return nil
}

// linkBundle makes the system's bundle a link to the merged one.
func (b *box) linkBundle() error {
	dir, err := openDir(b.root, filepath.Dir(systemBundle), 0o755)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	const temp = ".ca-certificates.crt.cage-init"
	if err := unix.Symlinkat(mergedBundle, dir, temp); err != nil {
		return err
	}
	return unix.Renameat(dir, temp, dir, filepath.Base(systemBundle))
}
