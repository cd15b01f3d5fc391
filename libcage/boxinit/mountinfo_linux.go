package boxinit

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
)

// mount is a line of mountinfo.
type mount struct {
	// Root is the mounted directory within its file system.
	Root string
	// Point is where it is mounted.
	Point  string
	FSType string
}

// mountTable is the box's mounts in the kernel's order.
type mountTable []mount

func readMounts() (mountTable, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMounts(text)
}

func parseMounts(text []byte) (mountTable, error) {
	var table mountTable
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		// 36 35 98:0 /root /point rw,noatime shared:1 - ext3 /dev/root rw
		left, right, ok := strings.Cut(lines.Text(), " - ")
		fields, tail := strings.Fields(left), strings.Fields(right)
		if !ok || len(fields) < 6 || len(tail) < 1 {
			return nil, fmt.Errorf("mountinfo: %q", lines.Text())
		}
		table = append(table, mount{
			Root:   unescapeOctal(fields[3]),
			Point:  unescapeOctal(fields[4]),
			FSType: tail[0],
		})
	}
	return table, nil
}

// unescapeOctal undoes the kernel's escapes of blanks: \040, \011, \012, \134.
func unescapeOctal(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			out = append(out, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
			continue
		}
		out = append(out, s[i])
	}
	return string(out)
}

// over returns the mount that path lies on.
func (t mountTable) over(path string) (m mount, ok bool) {
	for _, c := range t {
		if within(path, c.Point) && len(c.Point) >= len(m.Point) {
			m, ok = c, true
		}
	}
	return m, ok
}

// ownLayer reports whether path lies in the container's own layer.
func (t mountTable) ownLayer(path string) bool {
	m, ok := t.over(path)
	return ok && m.Point == "/"
}

// within reports whether the clean absolute path is dir or below it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
