// Package payload describes a harness to the engine block: what it is called,
// what it is started as and what it keeps. It is all that a launcher has of
// its own.
package payload

import (
	"io/fs"

	"github.com/agent-cage/agent-cage/images"
)

// Payload is one harness.
type Payload struct {
	// Label is the launcher's name: "claude-box".
	Label string
	// Prefix is that of the launcher's environment variables: "CLAUDE_BOX".
	Prefix string
	// Title names the harness for people: "Claude Code".
	Title string
	// Image is the harness's image, built from cage-base.
	Image Image
	// Command is what the harness is started as, before the caller's
	// arguments.
	Command []string
	// Env are variables that the harness is always given.
	Env func(Session) map[string]string
	// Forward names host variables that the harness is given if they are set,
	// beside those that every harness gets.
	Forward []string
	// State is where the harness keeps its login and sessions.
	State State
	// DirArgument lets the first argument name the project directory.
	DirArgument bool
}

// Image is what a harness's image is built from.
type Image struct {
	// Name is the image's reference, without a tag.
	Name string
	// Files is the build context, with a Dockerfile that starts from the
	// build argument BASE.
	Files fs.FS
	// Pin is the harness's version, from which the build arguments come; nil
	// for an image that pins none.
	Pin *images.Pin
}

// State is a harness's state directory.
type State struct {
	// Host is the directory on the host, relative to the caller's home.
	Host string
	// Box is the directory in the box, relative to the harness's home.
	Box string
	// Seed puts what a first session needs into the state directory, which is
	// open as root. It must keep what is there.
	Seed func(StateDir, Session) error
}

// StateDir is the access that a payload has to its state directory on the
// host. The box writes there, so nothing that is found is followed or
// trusted.
type StateDir interface {
	// ReadFile returns the content of a regular file of bounded size, or an
	// error that is fs.ErrNotExist.
	ReadFile(name string) ([]byte, error)
	// WriteFile replaces a file as a whole, with mode 0600.
	WriteFile(name string, data []byte) error
}

// Session is what a payload may know of a run.
type Session struct {
	// Project is the project directory, the same on the host and in the box.
	Project string
	// Home is the harness's home directory in the box.
	Home string
	// Getenv returns a variable of the caller's environment.
	Getenv func(string) string
	// ReadState returns the content of a file of the state directory, or an
	// error that is fs.ErrNotExist.
	ReadState func(name string) ([]byte, error)
	// Terminal says that the harness has one, and so perhaps a person.
	Terminal bool
}
