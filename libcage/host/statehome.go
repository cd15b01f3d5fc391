package host

import (
	"os"
	"os/user"
	"path/filepath"
)

// OwnHome is the home directory of the user that this process runs as: HOME,
// unless sudo has left root the one of the user who called it, in which root
// would make directories that are not that user's.
func OwnHome(getenv func(string) string) string {
	home := getenv("HOME")
	if os.Geteuid() != 0 {
		return home
	}
	if owner, ok := Owner(home); !ok || owner == 0 {
		return home
	}
	root, err := user.LookupId("0")
	if err != nil || !filepath.IsAbs(root.HomeDir) {
		return home
	}
	return root.HomeDir
}

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
