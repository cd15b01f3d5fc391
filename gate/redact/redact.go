// Package redact takes secrets out of command lines before they are written
// down. It hides too much rather than too little, and never fails.
package redact

import "strings"

// Mark stands where something was hidden. It is a plain word, so that a line
// with it reads as the same shell command.
const Mark = "REDACTED"

// shortest is the length in bytes below which a value of the environment is
// too common a text to look for.
const shortest = 8

// nested bounds how deep commands in quotes are looked into.
const nested = 6

// Command returns a shell command without what looks like a secret: values
// after names like password or token, credentials of URLs and headers, keys
// of known forms, random strings, and the values of environment, "NAME=value",
// whose names say that they are secret.
func Command(command string, environ []string) string {
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if len(value) >= shortest && secretName(name) {
			command = strings.ReplaceAll(command, value, Mark)
		}
	}
	return text(pem(command), 0)
}

// pem hides blocks such as private keys.
func pem(s string) string {
	for {
		start := strings.Index(s, "-----BEGIN ")
		if start < 0 {
			return s
		}
		rest := ""
		if end := strings.Index(s[start:], "-----END "); end >= 0 {
			rest = s[start+end+len("-----END "):]
			if i := strings.Index(rest, "-----"); i >= 0 {
				rest = rest[i+len("-----"):]
			}
		}
		s = s[:start] + Mark + rest
	}
}

// text goes through the words of a command. A word after one that announces a
// secret is hidden as a whole.
func text(s string, depth int) string {
	var b strings.Builder
	hide := false
	for len(s) > 0 {
		if n := gap(s); n > 0 {
			if strings.Trim(s[:n], " \t") != "" {
				hide = false // another command
			}
			b.WriteString(s[:n])
			s = s[n:]
			continue
		}
		n := wordEnd(s)
		w := s[:n]
		s = s[n:]
		if hide && !scheme(w) {
			b.WriteString(Mark)
			hide = announces(w)
			continue
		}
		if !hide {
			hide = announces(w)
		}
		b.WriteString(word(w, depth))
	}
	return b.String()
}

func gap(s string) int {
	return len(s) - len(strings.TrimLeft(s, " \t\r\n;|&()<>"))
}

// wordEnd returns where the first word of s ends, quoted parts included.
func wordEnd(s string) int {
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '\\':
			i++
		case strings.IndexByte(" \t\r\n;|&()<>", c) >= 0:
			return i
		}
	}
	return len(s)
}

// scheme reports whether a word stands between a name and its secret.
func scheme(w string) bool {
	switch strings.ToLower(strings.Trim(w, `'"`)) {
	case "bearer", "basic", "digest", "token", "negotiate", "=", ":":
		return true
	}
	return false
}

// announces reports whether a secret is the next word.
func announces(w string) bool {
	w = strings.Trim(w, `'"`)
	switch strings.ToLower(w) {
	case "-u", "--user", "--proxy-user", "bearer", "basic":
		return true
	}
	bare := strings.TrimRight(w, ":=")
	return (bare != w || strings.HasPrefix(w, "-")) && !strings.ContainsAny(bare, "=:") && secretName(bare)
}

// word hides what is secret inside one word.
func word(w string, depth int) string {
	if i := strings.IndexAny(w, `'"`); i >= 0 && depth < nested {
		// A part in quotes is a text of its own: a header, a script.
		end := i + 1
		for end < len(w) && w[end] != w[i] {
			if w[end] == '\\' && w[i] == '"' {
				end++
			}
			end++
		}
		end = min(end, len(w))
		before := w[:i]
		if announces(before) {
			return assigned(before) + Mark
		}
		inner := w[i+1 : end]
		after := ""
		if end < len(w) {
			after = w[end+1:]
			if strings.HasPrefix(strings.TrimLeft(after, " "), ":") && secretName(inner) {
				return assigned(before) + w[i:i+1] + inner + w[i:i+1] + ":" + Mark
			}
			after = w[end:end+1] + word(after, depth+1)
		}
		return assigned(before) + w[i:i+1] + text(inner, depth+1) + after
	}
	return assigned(w)
}

// assigned hides the value in NAME=value and NAME:value, the credentials of a
// URL, and strings that are secrets by their look.
func assigned(w string) string {
	w = userinfo(w)
	for i := 0; i < len(w); i++ {
		if (w[i] == '=' || w[i] == ':') && i+1 < len(w) && !strings.HasPrefix(w[i:], "://") && secretName(lastName(w[:i])) {
			return runs(w[:i+1]) + Mark
		}
	}
	return runs(w)
}

func lastName(s string) string {
	return s[strings.LastIndexAny(s, "?&/,{@")+1:]
}

// userinfo hides what stands before the @ of a URL, but for a bare ssh user.
func userinfo(w string) string {
	at := strings.Index(w, "://")
	if at < 0 {
		return w
	}
	rest := w[at+3:]
	host := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host = i
	}
	end := strings.LastIndexByte(rest[:host], '@')
	if end < 0 {
		return w
	}
	if user := rest[:end]; strings.HasSuffix(w[:at], "ssh") && !strings.Contains(user, ":") || user == "git" {
		return w
	}
	return w[:at+3] + Mark + rest[end:]
}

// secretParts are what the name of a secret contains.
var secretParts = [...]string{
	"passw", "passphrase", "secret", "token", "apikey", "api_key", "api-key", "access_key", "access-key",
	"accesskey", "private_key", "private-key", "credential", "authorization", "auth_key", "cookie", "signature",
}

func secretName(name string) bool {
	name = strings.ToLower(strings.TrimLeft(name, "-"))
	switch name {
	case "auth", "_auth", "pass", "pwd_hash", "key", "pgpassfile", "pin", "otp":
		return true
	}
	if strings.HasSuffix(name, "_key") || strings.HasSuffix(name, "_pass") || strings.HasSuffix(name, "_auth") {
		return true
	}
	for _, p := range secretParts {
		if strings.Contains(name, p) {
			return true
		}
	}
	return false
}

// runs hides the parts of a word that are secrets by their look.
func runs(w string) string {
	var b strings.Builder
	for i := 0; i < len(w); {
		j := i
		for j < len(w) && inRun(w[j]) {
			j++
		}
		if looksSecret(w[i:j]) {
			b.WriteString(Mark)
		} else {
			b.WriteString(w[i:j])
		}
		if j < len(w) {
			b.WriteByte(w[j])
			j++
		}
		i = j
	}
	return b.String()
}

func inRun(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '+'
}

// forms are the beginnings of well-known keys.
var forms = [...]string{
	"sk-", "sk_", "pk_live_", "rk_live_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-",
	"xoxb-", "xoxp-", "xoxa-", "xoxs-", "xapp-", "AKIA", "ASIA", "AIza", "npm_", "pypi-", "hf_", "dop_v1_",
	"lin_api_", "eyJ", "AGE-SECRET-KEY-", "ya29", "shpat_", "dckr_pat_", "sntrys_",
}

// looksSecret reports whether a run is a key of a known form, or as random as
// only generated strings are.
func looksSecret(run string) bool {
	if len(run) >= 16 {
		for _, f := range forms {
			if strings.HasPrefix(run, f) {
				return true
			}
		}
	}
	if len(run) < 20 {
		return false
	}
	turns, digits, hex := 0, 0, 0
	for i := 0; i < len(run); i++ {
		if kind(run[i]) == 3 {
			digits++
		}
		if c := run[i] | 0x20; run[i] >= '0' && run[i] <= '9' || c >= 'a' && c <= 'f' {
			hex++
		}
		if i > 0 && kind(run[i]) != kind(run[i-1]) && kind(run[i]) != 4 && kind(run[i-1]) != 4 {
			turns++
		}
	}
	return hex == len(run) && len(run) >= 32 || digits > 0 && turns*3 >= len(run)
}

func kind(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return 1
	case c >= 'A' && c <= 'Z':
		return 2
	case c >= '0' && c <= '9':
		return 3
	}
	return 4
}
