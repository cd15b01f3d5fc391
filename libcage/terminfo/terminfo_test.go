package terminfo

import (
	"io/fs"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	files := map[string]string{
		"/usr/share/terminfo/x/xterm-ghostty": "system",
		"/usr/share/terminfo/67/gnome":        "mac",
		"/own/x/xterm-ghostty":                "own",
		"/home/a/.terminfo/x/xterm-kitty":     "home",
		"/usr/share/terminfo/h/huge":          strings.Repeat("x", maxEntry+1),
		"/usr/share/terminfo/passwd":          "outside",
	}
	readFile := func(path string) ([]byte, error) {
		if content, ok := files[path]; ok {
			return []byte(content), nil
		}
		return nil, fs.ErrNotExist
	}
	tests := []struct{ term, terminfo, path, want string }{
		{"xterm-ghostty", "", "x/xterm-ghostty", "system"},
		{"xterm-ghostty", "/own", "x/xterm-ghostty", "own"},
		{"xterm-ghostty", "relative", "x/xterm-ghostty", "system"},
		{"xterm-kitty", "", "x/xterm-kitty", "home"},
		{"gnome", "", "g/gnome", "mac"},
		{"unknown", "", "", ""},
		{"huge", "", "", ""},
		{"../passwd", "", "", ""},
		{"..", "", "", ""},
		{"", "", "", ""},
	}
	for _, tt := range tests {
		getenv := func(name string) string { return map[string]string{"HOME": "/home/a", "TERMINFO": tt.terminfo}[name] }
		path, entry, ok := Find(tt.term, getenv, readFile)
		if path != tt.path || string(entry) != tt.want || ok != (tt.want != "") {
			t.Errorf("%q: got %q, %q, %t", tt.term, path, entry, ok)
		}
	}
}
