package policy

import (
	"strings"
	"unicode/utf8"
)

// plainByte marks the characters that mean themselves to bash and zsh
// wherever they stand in a word, but for ~, ^ and a leading =.
var plainByte = func() (t [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-") {
		t[c] = true
	}
	return t
}()

// word is one word of a command.
type word struct {
	at      Span
	raw     string // as written
	text    string // what the shell makes of it, but for a leading ~/
	tilde   bool   // begins with an unquoted ~/
	special bool   // has an unquoted ~ or ^, which zsh may read as a pattern if set to
}

// decode reads the source of one word: literals, '…' and "…" next to each
// other and nothing else. start is its place in the command.
func (c *Classifier) decode(raw string, start int) (word, *finding) {
	w := word{at: Span{start, start + len(raw)}, raw: raw}
	if isPlain(raw) {
		w.text = raw
		return w, nil
	}
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); {
		switch ch := raw[i]; {
		case ch == '\'':
			end := strings.IndexByte(raw[i+1:], '\'')
			if end < 0 {
				return w, &finding{code: CodeUnparsed, at: Span{start + i, w.at.End}}
			}
			b.WriteString(raw[i+1 : i+1+end])
			i += end + 2
		case ch == '"':
			n, f := c.doubleQuoted(raw[i+1:], start+i+1, &b)
			if f != nil {
				return w, f
			}
			i += n + 2
		case plainByte[ch] && !(ch == '=' && i == 0):
			b.WriteByte(ch)
			i++
		default:
			if f := c.unquoted(&w, i); f != nil {
				return w, f
			}
			b.WriteByte(ch)
			i++
		}
	}
	w.text = b.String()
	return w, nil
}

func isPlain(raw string) bool {
	for i := 0; i < len(raw); i++ {
		if !plainByte[raw[i]] {
			return false
		}
	}
	return raw != "" && raw[0] != '='
}

// doubleQuoted copies what stands between double quotes; s begins after the
// opening one. It returns how many bytes stand before the closing one.
func (c *Classifier) doubleQuoted(s string, start int, b *strings.Builder) (int, *finding) {
	for i := 0; i < len(s); i++ {
		var code Code
		switch s[i] {
		case '"':
			return i, nil
		case '$', '`':
			code = CodeExpansion
		case '\\':
			code = CodeBackslash
		case '!':
			code = CodeHistory
		}
		if code != "" {
			if f := c.object(code, Span{start + i, start + i + 1}, ""); f != nil {
				return 0, f
			}
		}
		b.WriteByte(s[i])
	}
	return 0, &finding{code: CodeUnparsed, at: Span{start - 1, start + len(s)}}
}

// unquoted judges a character outside quotes that is not plain.
func (c *Classifier) unquoted(w *word, i int) *finding {
	ch := w.raw[i]
	code := CodeCharacter
	switch ch {
	case '$', '`', '<', '>', '(', ')':
		code = CodeExpansion
	case '\\':
		code = CodeBackslash
	case '*', '?', '[', ']':
		code = CodeGlob
	case '{', '}':
		code = CodeBrace
	case '!':
		code = CodeHistory
	case '=':
		code = CodeEquals
	case '#':
		code = CodeComment
	case '^':
		// A pattern to a zsh that was set to extended globbing, so never at
		// the start, where it would match nearly everything.
		if i > 0 {
			w.special = true
			return nil
		}
	case '~':
		if i == 0 && strings.HasPrefix(w.raw, "~/") {
			w.tilde = true
			return nil
		}
		if i > 0 && tildeLiteralAfter(w.raw[i-1]) {
			w.special = true
			return nil
		}
		code = CodeTilde
	}
	_, size := utf8.DecodeRuneInString(w.raw[i:])
	return c.object(code, Span{w.at.Start + i, w.at.Start + i + size}, w.raw[i:i+size])
}

// tildeLiteralAfter reports whether a ~ behind this character is literal. Not
// after = and :, where bash expands it as in an assignment.
func tildeLiteralAfter(prev byte) bool {
	switch {
	case prev >= 'a' && prev <= 'z', prev >= 'A' && prev <= 'Z', prev >= '0' && prev <= '9':
		return true
	}
	return strings.IndexByte("_.-@^~/", prev) >= 0
}
