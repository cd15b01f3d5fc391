package ghissue

import (
	"regexp"
	"strings"
	"unicode"
)

// sequences are those that terminals act on: strings with an end (OSC, DCS,
// SOS, PM, APC), CSI, and the short ones. Of a string without an end on its
// line only the beginning is taken, so that none hides what follows.
var sequences = regexp.MustCompile(
	"(?:\x1b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\n]*?(?:\x07|\x1b\\\\|\u009c)" +
		"|(?:\x1b\\[|\u009b)[\\x30-\\x3f]*[\\x20-\\x2f]*[\\x40-\\x7e]?" +
		"|\x1b[\\x20-\\x2f]*[\\x30-\\x7e]?")

// text makes what others wrote fit for a terminal, lines and tabs kept: it
// drops control sequences and characters, and those that change the order of
// what is shown or hide in it.
func text(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	// A sequence may come about where another is taken out.
	for sequences.MatchString(s) {
		s = sequences.ReplaceAllString(s, "")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case hidden(r):
			return -1
		}
		return r
	}, s)
}

// hidden reports whether a character is a control, or shown as nothing. The
// two joiners stay: scripts and emoji are written with them.
func hidden(r rune) bool {
	if r == 0x200c || r == 0x200d {
		return false
	}
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}

// oneLine is text for one line.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(text(s), func(r rune) bool { return r == '\n' || r == '\t' }), " ")
}
