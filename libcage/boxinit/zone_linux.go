package boxinit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// zoneFile is root's settings of the zone, which alone count where they are.
const zoneFile = "/etc/agent-cage/zone.toml"

// writeZone makes the project the zone of the box, for what cages and judges
// commands in it. A file that the image has is left alone.
func (b *box) writeZone() error {
	project := filepath.Clean(b.run.Plan.Project.Dir)
	if _, err := os.Lstat(filepath.Join(b.root, zoneFile)); err == nil || !utf8.ValidString(project) {
		return nil // the settings cannot name every path, and a wrong one is none
	}
	uid, gid := uint32(os.Getuid()), uint32(os.Getgid())
	return replaceFile(b.root, zoneFile, []byte("project = "+tomlString(project)+"\n"), 0o755, 0o644, uid, gid)
}

// tomlString is a basic string of TOML.
func tomlString(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"', r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r < 0x20, r == 0x7f:
			fmt.Fprintf(&out, `\u%04X`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}
