package boxinit

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// account is the harness's in the box.
type account struct {
	Name, Group string
	UID, GID    uint32
	Home, Shell string
}

// accounts are the files that name a system's users.
type accounts struct {
	passwd, group, shadow []byte
}

// fallbackName is the harness's where the wanted name is another's.
const fallbackName = "agent"

// with returns the files with want in them, and the account as it is there.
// Names of the image's own accounts are not taken over. An account of the
// image with the same uid stays, behind the new one, so that its name is still
// known and the uid has the new name.
func (a accounts) with(want account) (accounts, account) {
	got := want
	got.Group = a.groupOf(want.GID)
	if got.Group == "" {
		got.Group = freeName(a.group, usable(want.Name), want.GID)
		a.group = appendLine(a.group, fmt.Sprintf("%s:x:%d:", got.Group, want.GID))
	}
	got.Name = freeName(a.passwd, usable(want.Name), want.UID)
	line := fmt.Sprintf("%s:x:%d:%d::%s:%s", got.Name, got.UID, got.GID, got.Home, got.Shell)
	a.passwd = replaceAccount(a.passwd, got, line)
	if a.shadow != nil && !hasName(a.shadow, got.Name) {
		a.shadow = appendLine(a.shadow, got.Name+":!:::::::")
	}
	return a, got
}

// usable returns name if it can be an account's, else the fallback.
func usable(name string) string {
	if name == "" || len(name) > 32 || strings.ContainsAny(name, ":\n\x00/, \t") || name[0] == '-' || allDigits(name) {
		return fallbackName
	}
	return name
}

func allDigits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// freeName returns name, the fallback, or a numbered fallback: the first that
// is nobody's, or id's already.
func freeName(file []byte, name string, id uint32) string {
	for n := 0; ; n++ {
		switch n {
		case 0:
		case 1:
			name = fallbackName
		default:
			name = fallbackName + strconv.Itoa(n)
		}
		owner, taken := idOf(file, name)
		if !taken || owner == strconv.FormatUint(uint64(id), 10) {
			return name
		}
	}
}

// idOf returns the third field of the line whose first field is name.
func idOf(file []byte, name string) (id string, ok bool) {
	for line := range bytes.Lines(file) {
		f := strings.Split(strings.TrimSuffix(string(line), "\n"), ":")
		if f[0] == name && len(f) > 2 {
			return f[2], true
		}
	}
	return "", false
}

func hasName(file []byte, name string) bool {
	for line := range bytes.Lines(file) {
		if bytes.HasPrefix(line, []byte(name+":")) {
			return true
		}
	}
	return false
}

func (a accounts) groupOf(gid uint32) string {
	want := strconv.FormatUint(uint64(gid), 10)
	for line := range bytes.Lines(a.group) {
		f := strings.Split(strings.TrimSuffix(string(line), "\n"), ":")
		if len(f) > 2 && f[2] == want {
			return f[0]
		}
	}
	return ""
}

// replaceAccount puts line in front of the first account with its uid, and
// drops the one with its name.
func replaceAccount(passwd []byte, acc account, line string) []byte {
	uid := strconv.FormatUint(uint64(acc.UID), 10)
	var out bytes.Buffer
	placed := false
	place := func() {
		if !placed {
			out.WriteString(line + "\n")
			placed = true
		}
	}
	for old := range bytes.Lines(passwd) {
		old = bytes.TrimSuffix(old, []byte("\n"))
		f := strings.Split(string(old), ":")
		if len(f) > 2 && f[2] == uid {
			place()
		}
		if f[0] == acc.Name {
			continue
		}
		out.Write(old)
		out.WriteByte('\n')
	}
	place()
	return out.Bytes()
}

func appendLine(file []byte, line string) []byte {
	out := bytes.Clone(file)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	return append(out, line+"\n"...)
}
