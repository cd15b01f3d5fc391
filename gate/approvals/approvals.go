// Package approvals keeps what a human allowed once: plain commands that run
// uncaged, and remotes for git over the network. It is one file, outside the
// zone, that only its owner and root can have written.
package approvals

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/agent-cage/agent-cage/zone"
	"github.com/agent-cage/agent-cage/zone/zonefile"
)

// Name is the file's name.
const Name = "approvals.json"

// Command is a plain command that a human allowed.
type Command struct {
	Args    []string  `json:"args"`              // the prefix; the program first
	Project string    `json:"project,omitempty"` // absolute; empty means everywhere
	Added   time.Time `json:"added"`
	Expires time.Time `json:"expires,omitzero"` // zero means never
}

// Remote is a URL that a human allowed for git over the network.
type Remote struct {
	Project string    `json:"project"` // absolute
	URL     string    `json:"url"`     // as it resolved then
	Given   string    `json:"given"`   // as it was given
	Added   time.Time `json:"added"`
}

// List is everything that was allowed.
type List struct {
	Commands []Command `json:"commands,omitempty"`
	Remotes  []Remote  `json:"remotes,omitempty"`
}

// Store is the file in a directory.
type Store struct {
	Dir  string
	UID  int       // who may have written it, beside root
	Zone zone.Zone // must not hold it
}

// Load returns the list; that of a missing file is empty.
func (s Store) Load() (List, error) {
	name := filepath.Join(s.Dir, Name)
	data, err := zonefile.ReadOwned(name, s.UID)
	if errors.Is(err, fs.ErrNotExist) {
		return List{}, nil
	}
	if err == nil {
		err = zonefile.Outside(s.Zone, name)
	}
	if err != nil {
		return List{}, err
	}
	var l List
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return List{}, fmt.Errorf("%s: %w", name, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return List{}, fmt.Errorf("%s: more than one value", name)
	}
	for _, c := range l.Commands {
		if len(c.Args) == 0 || c.Args[0] == "" {
			return List{}, fmt.Errorf("%s: a command without a program", name)
		}
	}
	return l, nil
}

// Change replaces the list by what change makes of it, while no other process
// does, and as a whole.
func (s Store) Change(change func(*List) error) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	name := filepath.Join(s.Dir, Name)
	lock := flock.New(name+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	l, err := s.Load()
	if err != nil {
		return err
	}
	if err := change(&l); err != nil {
		return err
	}
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	if err := replace(name, append(data, '\n')); err != nil {
		return err
	}
	// What was written has to be what the hook accepts.
	_, err = s.Load()
	return err
}

func replace(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+Name+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	return err
}

// Covers reports whether the command is allowed for these arguments in dir,
// which is absolute, clean and without symlinks.
func (c Command) Covers(dir string, args []string, now time.Time) bool {
	if len(args) < len(c.Args) || !c.Expires.IsZero() && !now.Before(c.Expires) ||
		c.Project != "" && !zone.Within(dir, c.Project) {
		return false
	}
	for i, a := range c.Args {
		if args[i] != a {
			return false
		}
	}
	return true
}
