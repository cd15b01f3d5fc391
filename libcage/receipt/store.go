package receipt

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agent-cage/agent-cage/libcage/atomicfile"
)

// DefaultAge is how old a receipt is when it is no longer worth keeping.
const DefaultAge = 30 * 24 * time.Hour

// maxReceipt bounds what is read of a file, in bytes.
const maxReceipt = 16 << 20

// suffix is that of a receipt's file, temporary that of one being written.
const (
	suffix    = ".json"
	temporary = atomicfile.Temporary
)

// abandoned is how old a file being written is when its writer has died.
const abandoned = time.Hour

// Store is a directory of receipts. It is made by the first Write.
type Store struct{ Dir string }

// Dir returns the directory of a user's receipts, receipts below the state
// directory of the project.
func Dir(stateHome string) string { return filepath.Join(stateHome, "receipts") }

// NotFoundError is an ID that no receipt has, or that several begin with.
type NotFoundError struct {
	ID string
	// Matches is how many receipts begin with it.
	Matches int
}

func (e *NotFoundError) Error() string {
	if e.Matches > 1 {
		return fmt.Sprintf("%d receipts begin with %q: give more of the ID", e.Matches, e.ID)
	}
	return fmt.Sprintf("no receipt %q: see cage receipts list", e.ID)
}

// Write stores a receipt with mode 0600, whole or not at all, and returns its
// path. An ID that is empty is made of the start and the box's name.
func (s Store) Write(r Receipt) (path string, err error) {
	r.Schema = Schema
	if r.ID == "" {
		r.ID = newID(r)
	}
	if !idForm.MatchString(r.ID) {
		return "", fmt.Errorf("receipt %q: no ID that a file can have", r.ID)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", fmt.Errorf("receipt: %w", err)
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", fmt.Errorf("receipt: %w", err)
	}
	path = filepath.Join(s.Dir, r.ID+suffix)
	if err := atomicfile.Write(path, append(text, '\n')); err != nil {
		return "", fmt.Errorf("receipt: %w", err)
	}
	return path, nil
}

// idForm keeps an ID within the directory and its file visible.
var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$`)

// newID is the start and what ran: the box's name, or the launcher's pid if it
// came to no box.
func newID(r Receipt) string {
	what := fmt.Sprintf("pid-%d", os.Getpid())
	if r.Plan != nil && r.Plan.Name != "" {
		what = r.Plan.Name
	}
	id := r.Started.UTC().Format("20060102T150405.000Z") + "-" + what
	return id[:min(len(id), 200)]
}

// Entry is a receipt's file.
type Entry struct {
	ID   string
	Path string
	// Bytes is its size.
	Bytes    int64
	Modified time.Time
}

// List returns the receipts, newest first. A directory that is not there has
// none.
func (s Store) List() ([]Entry, error) {
	entries, err := s.entries(suffix)
	for i := range entries {
		entries[i].ID = strings.TrimSuffix(entries[i].ID, suffix)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(b.ID, a.ID) })
	return entries, err
}

// entries are the regular files whose name ends in ending; their ID is the
// whole name.
func (s Store) entries(ending string) ([]Entry, error) {
	files, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, f := range files {
		info, err := f.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(f.Name(), ending) {
			continue // gone, or not ours
		}
		entries = append(entries, Entry{
			ID: f.Name(), Path: filepath.Join(s.Dir, f.Name()), Bytes: info.Size(), Modified: info.ModTime(),
		})
	}
	return entries, nil
}

// Find returns the receipt whose ID is id, or the newest of the box with that
// name, or the only one that begins with it. The error is a *NotFoundError.
func (s Store) Find(id string) (Entry, error) {
	entries, err := s.List()
	if err != nil {
		return Entry{}, err
	}
	var found []Entry
	for _, e := range entries {
		if e.ID == id {
			return e, nil
		}
		if _, box, _ := strings.Cut(e.ID, "-"); id != "" && box == id {
			return e, nil // the newest comes first
		}
		if id != "" && strings.HasPrefix(e.ID, id) {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		return Entry{}, &NotFoundError{ID: id, Matches: len(found)}
	}
	return found[0], nil
}

// Text returns a receipt as it was written.
func (e Entry) Text() ([]byte, error) {
	f, err := os.OpenFile(e.Path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxReceipt+1))
	if err == nil && len(text) > maxReceipt {
		return nil, fmt.Errorf("%s: larger than %d bytes", e.Path, maxReceipt)
	}
	return text, err
}

// Read returns a receipt. One of a newer schema is an error.
func (e Entry) Read() (*Receipt, error) {
	text, err := e.Text()
	if err != nil {
		return nil, err
	}
	var r Receipt
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", e.Path, err)
	}
	if !idForm.MatchString(r.ID) {
		return nil, fmt.Errorf("%s: it is no receipt", e.Path)
	}
	if r.Schema > Schema {
		return nil, fmt.Errorf("%s: schema %d is newer than this program", e.Path, r.Schema)
	}
	return &r, nil
}

// Old returns the receipts that were written before a time, oldest first, and
// the files that writers have left which died.
func (s Store) Old(before, now time.Time) ([]Entry, error) {
	receipts, err := s.List()
	if err != nil {
		return nil, err
	}
	torn, err := s.entries(temporary)
	if err != nil {
		return nil, err
	}
	var old []Entry
	for _, e := range torn {
		if now.Sub(e.Modified) > abandoned {
			old = append(old, e)
		}
	}
	for _, e := range slices.Backward(receipts) {
		if e.Modified.Before(before) {
			old = append(old, e)
		}
	}
	return old, nil
}

// Remove removes receipts. One that is gone is no error.
func (s Store) Remove(entries []Entry) error {
	var failed []error
	for _, e := range entries {
		if err := os.Remove(e.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}
