//go:build linux

package sandbox

import "strings"

// branchKeys are what git records about a branch. None of them is run.
var branchKeys = map[string]bool{"remote": true, "merge": true, "rebase": true, "pushremote": true, "description": true, "autosetupmerge": true}

// acceptConfig reports whether a git configuration differs from what it was
// in nothing but what is recorded about branches, and only names remotes that
// were there. It reads what git writes; anything else is a difference.
func acceptConfig(before, after string) bool {
	rest0, _, remotes := splitConfig(before)
	rest1, branches, _ := splitConfig(after)
	if rest0 != rest1 {
		return false
	}
	for _, l := range branches {
		key, value, ok := strings.Cut(l, "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		if !ok || !branchKeys[key] || strings.ContainsAny(value, "\"\\#;\r") {
			return false
		}
		if (key == "remote" || key == "pushremote") && value != "." && !remotes[value] {
			return false
		}
	}
	return true
}

// sectionName returns the name in a section header of the given kind, as git
// writes it: [kind "name"] and nothing more on the line.
func sectionName(line, kind string) (string, bool) {
	name, ok := strings.CutPrefix(line, "["+kind+` "`)
	if !ok {
		return "", false
	}
	if name, ok = strings.CutSuffix(name, `"]`); !ok {
		return "", false
	}
	plain := strings.NewReplacer(`\\`, "", `\"`, "").Replace(name)
	return name, !strings.ContainsAny(plain, `"\`)
}

// splitConfig takes a configuration apart: the lines of its branch sections,
// all others, and the names of its remotes.
func splitConfig(config string) (rest string, branches []string, remotes map[string]bool) {
	remotes = map[string]bool{}
	var b strings.Builder
	inBranch, continued := false, false
	for _, raw := range strings.Split(config, "\n") {
		line := strings.TrimSpace(raw)
		if strings.HasPrefix(line, "[") && !continued {
			_, inBranch = sectionName(line, "branch")
			if name, ok := sectionName(line, "remote"); ok {
				remotes[name] = true
			}
			if inBranch {
				continue
			}
		}
		continued = strings.HasSuffix(raw, `\`)
		switch {
		case line == "":
		case inBranch:
			branches = append(branches, line)
		default:
			b.WriteString(raw + "\n")
		}
	}
	return b.String(), branches, remotes
}
