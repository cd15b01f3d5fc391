package policy

import "strings"

// Quote writes s as one word that bash and zsh read as exactly s, whatever
// options are set.
func Quote(s string) string {
	if isPlain(s) {
		return s
	}
	return "'" + escapeQuotes(s) + "'"
}

// escapeQuotes makes s fit to stand between single quotes.
func escapeQuotes(s string) string { return strings.ReplaceAll(s, "'", `'\''`) }

// quoteAll writes a command line of the words.
func quoteAll(args []string) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(Quote(a))
	}
	return b.String()
}
