package witness

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// appender writes as a launcher does.
type appender string

func (a appender) AppendLine(name, line string, _ int64) error {
	f, err := os.OpenFile(filepath.Join(string(a), name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

func TestMark(t *testing.T) {
	markWithin, markPause = 300*time.Millisecond, 10*time.Millisecond
	d := t.TempDir()
	w := Witness{Dir: d, Mark: "0123"}
	var mismatch *MismatchError
	if err := w.Check(d); !errors.As(err, &mismatch) {
		t.Errorf("without a mark: %v", err)
	}
	must(t, Leave(appender(d), "0123"))
	// What looks the same, and was copied before.
	copied := t.TempDir()
	must(t, os.CopyFS(copied, os.DirFS(d)))
	must(t, Leave(appender(d), "4567"))
	for _, mark := range []string{"0123", "4567"} {
		if err := (Witness{Dir: d, Mark: mark}).Check(d); err != nil {
			t.Errorf("%s: %v", mark, err)
		}
	}
	for _, mark := range []string{"4567", "012", "0123\n4567"} {
		if err := (Witness{Dir: d, Mark: mark}).Check(copied); !errors.As(err, &mismatch) || mismatch.Dir != d {
			t.Errorf("%q in a copy: %v", mark, err)
		}
	}
	// It may be seen late.
	late := time.AfterFunc(50*time.Millisecond, func() { _ = Leave(appender(copied), "4567") })
	defer late.Stop()
	if err := (Witness{Dir: d, Mark: "4567"}).Check(copied); err != nil {
		t.Errorf("a mark that is late: %v", err)
	}
	// Another box may put anything there.
	pipe := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(pipe, MarkFile), 0o600))
	if err := w.Check(pipe); !errors.As(err, &mismatch) {
		t.Errorf("a pipe: %v", err)
	}
}
