package admin

import (
	"strconv"
	"strings"
)

// printable quotes a text that holds control characters, which a path may, so
// that it stays on its line and tells the terminal nothing.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// count is "1 box" or "2 boxes".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
