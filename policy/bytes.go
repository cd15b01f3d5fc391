package policy

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// maxCommand bounds a command that may be green, in bytes.
const maxCommand = 16 << 10

// byteGate refuses, before any parser sees it, text of which a parser and a
// shell may read different things: a parser joins "\<CR><LF>" and drops NUL
// where bash does not.
func (c *Classifier) byteGate(text string) *finding {
	if len(text) > maxCommand {
		if f := c.object(CodeLength, Span{maxCommand, len(text)}, ""); f != nil {
			return f
		}
	}
	if at, what := firstHidden(text); what != "" {
		return c.object(CodeByte, at, what)
	}
	return nil
}

// firstHidden finds the first character of a text, but for tab and newline,
// that is hidden.
func firstHidden(text string) (Span, string) {
	for i := 0; i < len(text); {
		b := text[i]
		if b >= 0x20 && b < 0x7f || b == '\t' || b == '\n' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if hidden(r, size) {
			return Span{i, i + size}, describeRune(r, size)
		}
		i += size
	}
	return Span{}, ""
}

// hidden reports whether a decoded character is invalid, or one that cannot
// be seen or changes how others are seen: controls, formats (zero-width,
// bidirectional, tags), separators, private and unassigned ones.
func hidden(r rune, size int) bool {
	switch {
	case r == utf8.RuneError && size == 1:
		return true
	case r == ' ':
		return false
	case unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S):
		// Letters and symbols that show nothing all the same: fillers,
		// joiners, selectors and the braille blank.
		switch {
		case r == 0x34F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5,
			r == 0x2800, r == 0x3164, r == 0xFFA0,
			r >= 0x180B && r <= 0x180F,
			r >= 0xFE00 && r <= 0xFE0E, r >= 0xE0100 && r <= 0xE01EF:
			return true
		}
		return false
	}
	return true
}

func describeRune(r rune, size int) string {
	if r == utf8.RuneError && size == 1 {
		return "invalid UTF-8"
	}
	return fmt.Sprintf("%U", r)
}
