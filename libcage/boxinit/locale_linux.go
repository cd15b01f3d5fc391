package boxinit

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fallbackLocale is in every image.
const fallbackLocale = "C.UTF-8"

// localeNames are the variables that name a locale. Terminals have others that
// begin with LC_, as ssh lets those pass: LC_TERMINAL.
var localeNames = []string{
	"LANG", "LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES",
	"LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME",
}

// maxArchive bounds the locale archive that is searched, in bytes. A larger
// one is taken to have everything.
const maxArchive = 64 << 20

// settleLocales replaces the locales of an environment that the image has not
// got. Programs would warn about them and go on without UTF-8.
func settleLocales(root string, env []string) {
	for i, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains(localeNames, name) && !hasLocale(root, value) {
			env[i] = name + "=" + fallbackLocale
		}
	}
}

// hasLocale reports whether the C library finds a locale below root.
func hasLocale(root, locale string) bool {
	normal := normalLocale(locale)
	switch normal {
	case "", "C", "POSIX", "C.utf8":
		return true
	}
	if strings.ContainsAny(normal, "/\x00") {
		return false
	}
	dir := filepath.Join(root, "usr/lib/locale")
	for _, name := range []string{locale, normal} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.IsDir() {
			return true
		}
	}
	archive := filepath.Join(dir, "locale-archive")
	info, err := os.Stat(archive)
	if err != nil {
		return false
	}
	if info.Size() > maxArchive {
		return true
	}
	names, err := os.ReadFile(archive)
	return err == nil && bytes.Contains(names, []byte(normal+"\x00"))
}

// normalLocale writes the codeset as the C library stores it: en_US.UTF-8
// becomes en_US.utf8.
func normalLocale(locale string) string {
	base, codeset, ok := strings.Cut(locale, ".")
	if !ok {
		return locale
	}
	codeset, modifier, modified := strings.Cut(codeset, "@")
	codeset = strings.ToLower(strings.Map(func(r rune) rune {
		if r == '-' || r == '_' {
			return -1
		}
		return r
	}, codeset))
	if modified {
		codeset += "@" + modifier
	}
	return base + "." + codeset
}
