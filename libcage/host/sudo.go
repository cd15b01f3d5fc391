package host

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// BehindSudo returns the user who called sudo, if a root caller is one and the
// project is that user's: what is done in it is done for that user. Otherwise
// it returns nil.
func BehindSudo(c *Caller, project string, getenv func(string) string) *Caller {
	if c.UID != 0 {
		return nil
	}
	uid, ok := SudoUID(getenv)
	if !ok {
		return nil
	}
	if owner, ok := Owner(project); !ok || owner != uid {
		return nil
	}
	// The user database and not the environment says who that is.
	u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return nil
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil
	}
	home, err := findHome(u.HomeDir)
	if err != nil {
		return nil
	}
	return &Caller{UID: uid, GID: uint32(gid), Name: u.Username, Home: home, LoginHome: home}
}

// SudoUID returns the user who called sudo, as sudo tells; ok is false if that
// is nobody but root.
func SudoUID(getenv func(string) string) (uid uint32, ok bool) {
	n, err := strconv.ParseUint(getenv("SUDO_UID"), 10, 32)
	return uint32(n), err == nil && n != 0
}

// Owner returns the user that a directory belongs to.
func Owner(dir string) (uid uint32, ok bool) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return stat.Uid, true
}
