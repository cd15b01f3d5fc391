package boxinit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/handshake"
)

// writeFiles writes the files of the run.
func (b *box) writeFiles() error {
	for _, f := range b.run.Files {
		if err := b.writeRunFile(f); err != nil {
			return err
		}
	}
	return nil
}

// writeRunFile writes one file. In the home it acts as the harness's user: a
// home may lie on a mount, where an earlier harness can have laid out links,
// and they lead nowhere that the harness could not go itself.
func (b *box) writeRunFile(f handshake.File) error {
	path := filepath.Clean(f.Path)
	owner := ids{uint32(os.Getuid()), uint32(os.Getgid())}
	if f.Owner == handshake.Harness {
		owner = b.harnessIDs
	}
	write := func(dirMode uint32) error {
		return replaceFile(b.root, path, []byte(f.Content), dirMode, f.Mode, owner.uid, owner.gid)
	}
	switch {
	case filepath.IsAbs(f.Path) && strings.HasPrefix(path, needs.RunDir+"/"):
		// Directories there are root's, and the harness has to pass.
		return write(0o755)
	case filepath.IsAbs(f.Path) && strings.HasPrefix(path, b.account.Home+"/") && f.Owner == handshake.Harness:
		dirMode := uint32(0o755)
		if f.Mode&0o077 == 0 {
			dirMode = 0o700
		}
		return asUser(owner, func() error { return write(dirMode) })
	}
	return fmt.Errorf("a file of the run is neither below %s nor the harness's below its home: %s", needs.RunDir, f.Path)
}
