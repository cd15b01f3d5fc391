// Package pin keeps which version of a harness goes into its image, where that
// is a newer one than this program came with.
package pin

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/agent-cage/agent-cage/images"
	"github.com/agent-cage/agent-cage/libcage/atomicfile"
)

// Store is a directory with one moved pin for each image, and what is known of
// newer versions.
type Store struct{ Dir string }

// Current returns the pin that counts for an image: the moved one if it is
// valid and newer than the one that the program came with, else that one.
func (s Store) Current(image string, builtin images.Pin) images.Pin {
	var moved images.Pin
	data, err := os.ReadFile(s.path(image, "pin"))
	if err != nil || json.Unmarshal(data, &moved) != nil || validate(moved) != nil || !Newer(moved.Version, builtin.Version) {
		return builtin
	}
	return moved
}

// Move makes a pin the one that counts.
func (s Store) Move(image string, p images.Pin) error {
	if err := validate(p); err != nil {
		return err
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(s.path(image, "pin"), data)
}

// news is what is remembered of a version that was seen.
type news struct {
	Version   string    `json:"version"`
	Seen      time.Time `json:"seen"`
	Mentioned time.Time `json:"mentioned"`
}

// interval is how often newer versions are looked for and mentioned.
const interval = 24 * time.Hour

// Due reports whether it is time to look for a newer version.
func (s Store) Due(image string, now time.Time) bool {
	age := now.Sub(s.news(image).Seen)
	return age < 0 || age >= interval
}

// Note remembers the newest version there is.
func (s Store) Note(image, version string, now time.Time) error {
	if !versionForm.MatchString(version) {
		return fmt.Errorf("%q is no version", version)
	}
	n := s.news(image)
	n.Version, n.Seen = version, now
	return s.writeNews(image, n)
}

// Mention returns the newest version if it is newer than the pinned one and
// has not been mentioned for a day, and takes it for mentioned.
func (s Store) Mention(image string, pinned string, now time.Time) (version string) {
	n := s.news(image)
	age := now.Sub(n.Mentioned)
	if !Newer(n.Version, pinned) || age >= 0 && age < interval {
		return ""
	}
	n.Mentioned = now
	if s.writeNews(image, n) != nil {
		return "" // it would be mentioned each time
	}
	return n.Version
}

func (s Store) news(image string) (n news) {
	data, err := os.ReadFile(s.path(image, "news"))
	if err != nil || json.Unmarshal(data, &n) != nil {
		return news{}
	}
	return n
}

func (s Store) writeNews(image string, n news) error {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return atomicfile.Write(s.path(image, "news"), data)
}

func (s Store) path(image, kind string) string {
	return filepath.Join(s.Dir, image+"."+kind+".json")
}

// Newer reports whether version a is newer than b.
func Newer(a, b string) bool {
	return semver.IsValid("v"+a) && semver.Compare("v"+a, "v"+b) > 0
}

var (
	versionForm   = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)
	integrityForm = regexp.MustCompile(`^sha512-[A-Za-z0-9+/]{86}==$`)
	packageForm   = regexp.MustCompile(`^(@[a-z0-9._-]+/)?[a-z0-9._-]+@[0-9A-Za-z.-]+$`)
	memberForm    = regexp.MustCompile(`^[A-Za-z0-9._/-]+$`)
)

func validate(p images.Pin) error {
	if !versionForm.MatchString(p.Version) || len(p.Archives) == 0 {
		return fmt.Errorf("pin of version %q is not valid", p.Version)
	}
	for arch, a := range p.Archives {
		if !packageForm.MatchString(a.Package) || !integrityForm.MatchString(a.Integrity) || !validMembers(a.Members) {
			return fmt.Errorf("pin of version %q is not valid for %s", p.Version, arch)
		}
	}
	return nil
}

func validMembers(members []string) bool {
	return len(members) > 0 && !slices.ContainsFunc(members, func(m string) bool {
		return !memberForm.MatchString(m) || !fs.ValidPath(m)
	})
}

// Newest is a command that prints a package's newest version.
func Newest(p images.Pin) []string {
	return []string{"npm", "view", "--no-update-notifier", "--fetch-retries=1", p.Package, "version"}
}

// query prints the newest version of $1, and then the integrity of each other
// package, in whose name %s stands for that version. By default npm tries for more
// than a minute to reach a registry that it cannot reach.
const query = `set -eu
newest=$(npm view --no-update-notifier --fetch-retries=1 "$1" version)
echo "$newest"
shift
for package in "$@"; do
    npm view --no-update-notifier --fetch-retries=1 "$(printf "$package" "$newest")" dist.integrity
done`

// Query is a command that prints all that a pin of the newest version needs.
func Query(p images.Pin) []string {
	argv := []string{"sh", "-c", query, "query", p.Package}
	for _, arch := range slices.Sorted(maps.Keys(p.Archives)) {
		argv = append(argv, strings.ReplaceAll(p.Archives[arch].Package, p.Version, "%s"))
	}
	return argv
}

// Read makes a pin of what Query has printed.
func Read(p images.Pin, output string) (images.Pin, error) {
	lines := strings.Fields(output)
	archs := slices.Sorted(maps.Keys(p.Archives))
	if len(lines) != 1+len(archs) {
		return images.Pin{}, fmt.Errorf("npm said %q, which is no version with %d hashes", output, len(archs))
	}
	moved := images.Pin{Package: p.Package, Version: lines[0], Archives: map[string]images.Archive{}}
	for i, arch := range archs {
		a := p.Archives[arch]
		a.Package = strings.ReplaceAll(a.Package, p.Version, moved.Version)
		a.Integrity = lines[1+i]
		moved.Archives[arch] = a
	}
	return moved, validate(moved)
}
