package host

import "path/filepath"

// StateHome is where the project keeps what is not a harness's: agent-cage
// below XDG_STATE_HOME, which counts only if it is absolute, as its
// specification says, or else below home's .local/state.
func StateHome(getenv func(string) string, home string) string {
	base := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "agent-cage")
}
