package host

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"strings"
)

// zones is where the time zones are that /etc/timezone names.
const zones = "/usr/share/zoneinfo"

// maxZone bounds the description of a time zone, in bytes.
const maxZone = 1 << 20

// Files is what is asked of a file system, by absolute paths.
type Files interface {
	Readlink(name string) (string, error)
	ReadFile(name string) ([]byte, error)
}

// maxLinks bounds a chain of links, as the kernel does.
const maxLinks = 40

// Timezone returns a value of TZ that gives the host's time. It is the zone's
// name, Europe/Berlin, from where /etc/localtime leads, be it by several links,
// or from /etc/timezone if /etc/localtime is a copy of that zone. Of another
// copy it is the rule for the present, CET-1CEST,M3.5.0,M10.5.0/3, which is in
// it. It is empty if none of them tells.
func Timezone(files Files) string {
	localtime := "/etc/localtime"
	for range maxLinks {
		target, err := files.Readlink(localtime)
		if err != nil {
			break
		}
		if _, name, ok := strings.Cut(target, "zoneinfo/"); ok {
			return name
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(localtime), target)
		}
		localtime = target
	}
	local, err := files.ReadFile(localtime)
	if err != nil || len(local) > maxZone {
		return ""
	}
	if text, err := files.ReadFile("/etc/timezone"); err == nil {
		name := strings.TrimSpace(string(text))
		zone, err := files.ReadFile(filepath.Join(zones, name))
		if fs.ValidPath(name) && err == nil && bytes.Equal(zone, local) {
			return name
		}
	}
	return rule(local)
}

// rule returns the last line of a time zone's description: its rule as TZ has
// it. Descriptions of the first version have none.
func rule(zone []byte) string {
	body, ended := bytes.CutSuffix(zone, []byte("\n"))
	if !ended || !bytes.HasPrefix(zone, []byte("TZif")) || zone[4] == 0 {
		return ""
	}
	line := body[bytes.LastIndexByte(body, '\n')+1:]
	if bytes.ContainsFunc(line, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return string(line)
}
