package terminal

import "strings"

// SetTitle returns what makes a terminal keep its title and show another, and
// RestoreTitle what brings the old one back. Both are empty for terminals that
// would print it.
func SetTitle(term, title string) string {
	if !hasTitle(term) {
		return ""
	}
	title = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, title)
	return "\x1b[22;0t\x1b]0;" + title + "\x07"
}

// RestoreTitle returns what brings back the title that SetTitle replaced.
func RestoreTitle(term string) string {
	if !hasTitle(term) {
		return ""
	}
	return "\x1b[23;0t"
}

// hasTitle reports whether a terminal of that TERM has a title to set.
func hasTitle(term string) bool {
	for _, prefix := range []string{"xterm", "screen", "tmux", "rxvt", "alacritty", "foot", "ghostty", "konsole", "st-", "vte", "wezterm", "gnome"} {
		if strings.HasPrefix(term, prefix) {
			return true
		}
	}
	return false
}
