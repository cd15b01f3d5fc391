package policy

import "strings"

// Quote writes s as one word that bash and zsh read as exactly s, whatever
// options are set.
func Quote(s string) string {
	if isPlain(s) {
		return s
	}
	// Between single quotes nothing is special, and a single quote stands
	// between double ones: a backslash means different things to zsh's options.
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
}

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
