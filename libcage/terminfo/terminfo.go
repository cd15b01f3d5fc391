// Package terminfo finds the description of the caller's terminal, for boxes
// that have not heard of it.
package terminfo

import (
	"fmt"
	"path/filepath"
	"strings"
)

// maxEntry bounds a description, in bytes: the largest that ncurses reads.
const maxEntry = 32 << 10

// Find returns the compiled description of a terminal and its path below a
// terminfo directory on linux. It looks where ncurses does; ok is false if
// there is none.
func Find(term string, getenv func(string) string, readFile func(string) ([]byte, error)) (path string, entry []byte, ok bool) {
	if term == "" || strings.ContainsAny(term, "/\x00") || term == "." || term == ".." {
		return "", nil, false
	}
	for _, dir := range dirs(getenv) {
		// A Mac names the folder by the letter's number.
		for _, letter := range []string{term[:1], fmt.Sprintf("%x", term[0])} {
			entry, err := readFile(filepath.Join(dir, letter, term))
			if err == nil && len(entry) > 0 && len(entry) <= maxEntry {
				return filepath.Join(term[:1], term), entry, true
			}
		}
	}
	return "", nil, false
}

func dirs(getenv func(string) string) []string {
	var all []string
	add := func(list ...string) {
		for _, d := range list {
			if filepath.IsAbs(d) {
				all = append(all, d)
			}
		}
	}
	add(getenv("TERMINFO"), filepath.Join(getenv("HOME"), ".terminfo"))
	add(filepath.SplitList(getenv("TERMINFO_DIRS"))...)
	add("/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/local/share/terminfo", "/opt/homebrew/share/terminfo")
	return all
}
