// Package zonefile reads the zone's settings file strictly: what it does not
// understand, or what somebody else could have written, it refuses.
package zonefile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/agent-cage/agent-cage/zone"
)

// SystemDir holds root's settings. Where a file of the same name exists there
// (it does in a box), it alone counts.
const SystemDir = "/etc/agent-cage"

// Name is the file's name in either directory.
const Name = "zone.toml"

// file is the settings file. All keys are optional.
type file struct {
	// Roots are added to the defaults: absolute, or below ~/.
	Roots []string `toml:"roots"`
	// Cache is overlay (the default), private or shared.
	Cache string `toml:"cache"`
	// PrivateTmp gives every cage a /tmp of its own.
	PrivateTmp bool `toml:"private-tmp"`
	// Mask names more files and directories to hide in the cage.
	Mask []string `toml:"mask"`
	// Project, in root's file only, makes this the zone of a box.
	Project string `toml:"project"`
}

// Load returns the zone of the user whose home directory, absolute, is given.
// Absent settings mean the defaults; settings that are there but invalid,
// writable by others, or inside the zone they define are an error.
func Load(home string) (zone.Zone, error) {
	return LoadFrom(home, SystemDir)
}

// LoadFrom is Load with another directory for root's settings.
func LoadFrom(home, systemDir string) (zone.Zone, error) {
	if !path.IsAbs(home) {
		return zone.Zone{}, fmt.Errorf("home directory %q is not absolute", home)
	}
	system := filepath.Join(systemDir, Name)
	data, err := ReadOwned(system, 0)
	switch {
	case err == nil:
		return parse(data, system, home, true)
	case !errors.Is(err, fs.ErrNotExist):
		return zone.Zone{}, err
	}
	user := filepath.Join(zone.Default(home).ConfigDir(), Name)
	data, err = ReadOwned(user, os.Geteuid())
	if errors.Is(err, fs.ErrNotExist) {
		z := zone.Default(home)
		return z, z.Validate()
	}
	if err != nil {
		return zone.Zone{}, err
	}
	z, err := parse(data, user, home, false)
	if err != nil {
		return zone.Zone{}, err
	}
	return z, Outside(z, user)
}

// Outside refuses a settings file that lies in the zone, by its own path or
// after resolving symlinks: what is caged could write it.
func Outside(z zone.Zone, name string) error {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	for _, p := range []string{name, real} {
		if r, ok := z.RootOf(p); ok {
			return fmt.Errorf("%s is inside the zone root %s, where caged commands write", name, r.Path)
		}
	}
	return nil
}

// parse reads data, the content of the named file. system marks root's file.
func parse(data []byte, name, home string, system bool) (zone.Zone, error) {
	var f file
	if err := DecodeStrict(data, &f); err != nil {
		return zone.Zone{}, fmt.Errorf("%s: %w", name, err)
	}
	z := zone.Default(home)
	if f.Project != "" {
		if !system {
			return zone.Zone{}, fmt.Errorf("%s: project: only root's file may name it", name)
		}
		if !path.IsAbs(f.Project) || path.Clean(f.Project) != f.Project {
			return zone.Zone{}, fmt.Errorf("%s: project: %q is not an absolute, clean path", name, f.Project)
		}
		z = zone.Box(home, f.Project)
	}
	for _, s := range f.Roots {
		p, err := absolute(s, home)
		if err != nil {
			return zone.Zone{}, fmt.Errorf("%s: roots: %w", name, err)
		}
		z.Roots = append(z.Roots, zone.Root{Path: p, Source: zone.SourceConfigured})
	}
	for _, s := range f.Mask {
		p, err := absolute(s, home)
		if err != nil {
			return zone.Zone{}, fmt.Errorf("%s: mask: %w", name, err)
		}
		z.Mask = append(z.Mask, p)
	}
	switch zone.CacheMode(f.Cache) {
	case "":
	case zone.CacheOverlay, zone.CachePrivate, zone.CacheShared:
		z.Cache = zone.CacheMode(f.Cache)
	default:
		return zone.Zone{}, fmt.Errorf("%s: cache: %q is not overlay, private or shared", name, f.Cache)
	}
	z.PrivateTmp = f.PrivateTmp
	if err := z.Validate(); err != nil {
		return zone.Zone{}, fmt.Errorf("%s: %w", name, err)
	}
	return z, nil
}

// absolute turns a path of a settings file into an absolute, clean one. Only
// ~/ is expanded.
func absolute(s, home string) (string, error) {
	p := s
	if rest, ok := strings.CutPrefix(s, "~/"); ok {
		p = home + "/" + rest
	}
	if !path.IsAbs(p) {
		return "", fmt.Errorf("%q is neither absolute nor below ~/", s)
	}
	for _, part := range strings.Split(p, "/") {
		if part == ".." {
			return "", fmt.Errorf("%q contains .. as an element", s)
		}
	}
	for _, c := range []byte(p) {
		if c < 0x20 || c == 0x7f {
			return "", fmt.Errorf("%q contains a control character", s)
		}
	}
	return path.Clean(p), nil
}

// DecodeStrict decodes TOML into v, whose keys are of lower-case letters,
// digits and dashes, and refuses unknown keys. Its error is one line that
// names place and key.
func DecodeStrict(data []byte, v any) error {
	// The decoder folds the case of keys: "Roots" would be taken for "roots".
	var tree map[string]any
	if err := toml.Unmarshal(data, &tree); err == nil {
		if key := oddKey(tree); key != "" {
			return fmt.Errorf("unknown key %q", key)
		}
	}
	d := toml.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		e := unknown.Errors[0]
		row, _ := e.Position()
		return fmt.Errorf("line %d: unknown key %s", row, strings.Join(e.Key(), "."))
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		row, _ := bad.Position()
		return fmt.Errorf("line %d: %s", row, firstLine(bad.Error()))
	}
	if err != nil {
		return errors.New(firstLine(err.Error()))
	}
	return nil
}

// oddKey returns a key that no settings file can have.
func oddKey(v any) string {
	switch v := v.(type) {
	case map[string]any:
		for k, sub := range v {
			if k == "" || strings.Trim(k, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
				return k
			}
			if odd := oddKey(sub); odd != "" {
				return odd
			}
		}
	case []any:
		for _, sub := range v {
			if odd := oddKey(sub); odd != "" {
				return odd
			}
		}
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
