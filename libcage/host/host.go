// Package host gathers what a launcher knows of its caller: who it is, where
// its home and its project are, what its streams are connected to. All of it
// is read here and passed on as data.
package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// Caller is who started the launcher.
type Caller struct {
	UID, GID uint32
	// Name is the login name; empty if the system knows none.
	Name string
	// Home is the real path of the home directory: $HOME.
	Home string
	// LoginHome is that of the user database, where HOME says another; the
	// keys are there all the same.
	LoginHome string
}

// RefusedError is a directory that cannot be used, and why.
type RefusedError struct {
	// What is the directory's role: "home directory", "project directory".
	What, Path, Reason string
}

func (e *RefusedError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s: %s", e.What, e.Reason)
	}
	return fmt.Sprintf("%s %q: %s", e.What, e.Path, e.Reason)
}

// FindCaller returns the caller. Its home is $HOME, as every program that the
// caller runs sees it. An error is a *RefusedError.
func FindCaller(getenv func(string) string) (*Caller, error) {
	home, err := findHome(getenv("HOME"))
	if err != nil {
		return nil, err
	}
	c := &Caller{UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Home: home}
	if u, err := user.Current(); err == nil {
		c.Name = u.Username
		c.LoginHome = loginHome(u)
	}
	return c, nil
}

// loginHome returns the real path of a user's home; empty if there is none.
func loginHome(u *user.User) string {
	home, err := findHome(u.HomeDir)
	if err != nil {
		return ""
	}
	return home
}

// refusedHome says why a directory that is the caller's home, or contains it,
// is given to no box.
func (c *Caller) refusedHome(dir string) string {
	for _, home := range []string{c.Home, c.LoginHome} {
		switch {
		case home == "":
		case dir == home:
			return "it is your home directory, which holds your keys: start in a project below it"
		case Within(home, dir):
			return fmt.Sprintf("it contains your home directory %s, which holds your keys: start in a project below it", home)
		}
	}
	return ""
}

func findHome(home string) (string, error) {
	refuse := func(reason string) (string, error) {
		return "", &RefusedError{"home directory", home, reason}
	}
	switch {
	case home == "":
		return refuse("HOME is not set: set it to your home directory")
	case !filepath.IsAbs(home):
		return refuse("HOME is not an absolute path: set it to your home directory")
	}
	realPath, err := filepath.EvalSymlinks(home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("HOME does not exist: create it or set HOME to your home directory")
	case err != nil:
		return refuse(cause(err))
	}
	if info, err := os.Stat(realPath); err != nil || !info.IsDir() {
		return refuse("HOME is not a directory: set it to your home directory")
	}
	// The box's user database and PATH have a line and a list of it.
	if strings.ContainsFunc(realPath, func(r rune) bool { return r == ':' || unicode.IsControl(r) }) {
		return refuse("HOME has a colon or a control character in its name, which a user database cannot hold: set it to another directory")
	}
	if reason := untellable(realPath); reason != "" {
		return refuse("HOME: " + reason)
	}
	return realPath, nil
}

// Project returns the real path of the project directory that a caller named:
// relative to the working directory, or below home behind a tilde. An error
// is a *RefusedError.
func Project(named string, c *Caller) (string, error) {
	switch {
	case named == "":
		named = "."
	case named == "~":
		named = c.Home
	case strings.HasPrefix(named, "~/"):
		named = filepath.Join(c.Home, named[2:])
	}
	abs, err := filepath.Abs(named)
	if err != nil {
		return "", &RefusedError{"project directory", "", "the current directory no longer exists: change to one that does"}
	}
	refuse := func(reason string) (string, error) {
		return "", &RefusedError{"project directory", abs, reason}
	}
	dir, err := filepath.EvalSymlinks(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("it does not exist: create it first")
	case err != nil:
		return refuse(cause(err))
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return refuse(cause(err))
	case !info.IsDir():
		return refuse("it is not a directory")
	}
	if d, err := os.Open(dir); err != nil {
		return refuse("it cannot be read: " + cause(err))
	} else {
		d.Close()
	}
	// To name a directory in itself takes the right to enter it.
	if _, err := os.Lstat(dir + "/."); err != nil {
		return refuse("it cannot be entered: " + cause(err))
	}
	if reason := cmp.Or(untellable(dir), c.refusedHome(dir), tooWide(dir)); reason != "" {
		return refuse(reason)
	}
	return dir, nil
}

// untellable says why an engine cannot be told of a path: its API is JSON, which
// would replace the bytes that are no text.
func untellable(path string) string {
	if !utf8.ValidString(path) {
		return "its path is not UTF-8, so no engine can be told of it: rename it"
	}
	return ""
}

// tooWide says why a directory is no project of anybody's: because it would
// hide the box's own system, or holds what is others'.
func tooWide(dir string) string {
	if dir == "/tmp" || dir == "/private/tmp" {
		return "it holds the sockets of other programs: start in a directory below it"
	}
	for _, whole := range []string{"/proc", "/sys", "/dev", "/run", "/var/run", "/etc"} {
		if dir == whole || Within(dir, whole) {
			return "it is part of the system: start in a directory that holds a project"
		}
	}
	for _, top := range []string{"/bin", "/boot", "/home", "/lib", "/lib64", "/opt", "/root", "/sbin", "/srv", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin", "/usr/local/lib", "/usr/local/libexec", "/usr/sbin", "/usr/share", "/var", "/var/lib"} {
		if dir == top {
			return "it would hide a part of the box's own system: start in a directory that holds a project"
		}
	}
	return ""
}

// Within reports whether path lies below dir, both clean and absolute.
func Within(path, dir string) bool {
	return path != dir && strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// cause returns the reason of a file system error without the path, which
// its reader already has.
func cause(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}
