package auditlog

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func entry(i int) Entry {
	return Entry{
		Time: time.Unix(int64(i), 0), Harness: "claude", Tool: "Bash", Cwd: "/p", Mode: "ask", Class: "gated",
		Code: "plain-command", Decision: "ask", By: "prompt", Command: fmt.Sprintf("make \"%d\"", i),
	}
}

func fill(t *testing.T, l Log, n int) {
	t.Helper()
	for i := range n {
		if err := l.Append(entry(i)); err != nil {
			t.Fatal(err)
		}
	}
}

func verify(t *testing.T, l Log) (int, []Fault) {
	t.Helper()
	n, faults, err := l.Verify()
	if err != nil {
		t.Fatal(err)
	}
	return n, faults
}

func TestAppendAndRead(t *testing.T) {
	l := Log{Dir: filepath.Join(t.TempDir(), "a/b")}
	if n, faults := verify(t, l); n != 0 || faults != nil {
		t.Errorf("no log: %d %v", n, faults)
	}
	fill(t, l, 5)
	var got []Entry
	err := l.Read(func(line Line) error { got = append(got, line.Entry); return line.Err })
	if err != nil || len(got) != 5 || got[4].Command != `make "4"` || !got[4].Time.Equal(time.Unix(4, 0)) || got[4].By != "prompt" {
		t.Errorf("%v %v", got, err)
	}
	if n, faults := verify(t, l); n != 5 || faults != nil {
		t.Errorf("%d %v", n, faults)
	}
	for _, name := range []string{Name, headName} {
		if st, err := os.Stat(filepath.Join(l.Dir, name)); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, st, err)
		}
	}
}

func TestRotation(t *testing.T) {
	l := Log{Dir: t.TempDir(), MaxBytes: 1000, Keep: 3}
	fill(t, l, 50)
	n, faults := verify(t, l)
	if faults != nil || n < 6 || n > 12 {
		t.Errorf("%d lines, %v", n, faults)
	}
	names, _ := filepath.Glob(l.Dir + "/" + Name + "*")
	if len(names) < 3 || len(names) > 4 {
		t.Errorf("%q", names)
	}
	os.Remove(filepath.Join(l.Dir, Name+".2"))
	if _, faults := verify(t, l); len(faults) != 1 || !strings.Contains(faults[0].What, "broken") {
		t.Errorf("a file is missing in the middle: %v", faults)
	}
}

// Each change to the file is found, and by its line.
func TestVerifyFindsChanges(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]byte) []byte
		at     int // number of the first fault
	}{
		"a word":    {func(b []byte) []byte { return bytes.Replace(b, []byte(`\"2\"`), []byte(`\"9\"`), 1) }, 3},
		"last line": {func(b []byte) []byte { return bytes.Replace(b, []byte(`\"4\"`), []byte(`\"9\"`), 1) }, 5},
		"line removed": {func(b []byte) []byte {
			l := bytes.SplitAfter(b, []byte("\n"))
			return bytes.Join(append(l[:2:2], l[3:]...), nil)
		}, 3},
		"swapped": {func(b []byte) []byte {
			l := bytes.SplitAfter(b, []byte("\n"))
			l[1], l[2] = l[2], l[1]
			return bytes.Join(l, nil)
		}, 2},
		"end cut off": {func(b []byte) []byte { l := bytes.SplitAfter(b, []byte("\n")); return bytes.Join(l[:4], nil) }, 0},
		"all removed": {func([]byte) []byte { return nil }, 0},
		"torn":        {func(b []byte) []byte { return b[:len(b)-20] }, 5},
		"line added":  {func(b []byte) []byte { return append(b, "{}\n"...) }, 6},
		"first again": {func(b []byte) []byte { return append(b, b[:bytes.IndexByte(b, '\n')+1]...) }, 6},
	} {
		l := Log{Dir: t.TempDir()}
		fill(t, l, 5)
		file := filepath.Join(l.Dir, Name)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, c.change(data), 0o600); err != nil {
			t.Fatal(err)
		}
		_, faults := verify(t, l)
		if len(faults) == 0 || faults[0].Number != c.at {
			t.Errorf("%s: %v, want line %d", name, faults, c.at)
		}
		// Writing goes on, and does not hide it.
		fill(t, l, 1)
		if _, after := verify(t, l); len(after) == 0 {
			t.Errorf("%s: one more line hides it", name)
		}
	}
}

func TestWriterKilledBeforeItNotedTheEnd(t *testing.T) {
	l := Log{Dir: t.TempDir()}
	fill(t, l, 2)
	head, err := os.ReadFile(filepath.Join(l.Dir, headName))
	if err != nil {
		t.Fatal(err)
	}
	fill(t, l, 1)
	if err := os.WriteFile(filepath.Join(l.Dir, headName), head, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, faults := verify(t, l); n != 3 || faults != nil {
		t.Errorf("%d %v", n, faults)
	}
	fill(t, l, 1)
	if n, faults := verify(t, l); n != 4 || faults != nil {
		t.Errorf("%d %v", n, faults)
	}
}

func TestManyWriters(t *testing.T) {
	l := Log{Dir: t.TempDir(), MaxBytes: 100_000, Keep: 20}
	var wg sync.WaitGroup
	for w := range 1000 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 2 {
				if err := l.Append(entry(w*2 + i)); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if n, faults := verify(t, l); n != 2000 || faults != nil {
		t.Errorf("%d lines, %v", n, faults)
	}
}

func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	for name, bad := range map[string]func(l Log){
		"a directory": func(l Log) { os.MkdirAll(filepath.Join(l.Dir, Name), 0o700) },
		"a symlink":   func(l Log) { os.Symlink("/tmp/elsewhere", filepath.Join(l.Dir, Name)) },
		"a device":    func(l Log) { os.Symlink("/dev/full", filepath.Join(l.Dir, Name)) },
		"no folder":   func(l Log) { os.Remove(l.Dir); os.WriteFile(l.Dir, nil, 0o600) },
		"no head":     func(l Log) { os.MkdirAll(filepath.Join(l.Dir, headName), 0o700) },
	} {
		l := Log{Dir: filepath.Join(dir, name)}
		os.MkdirAll(l.Dir, 0o700)
		bad(l)
		if err := l.Append(entry(1)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestFollow(t *testing.T) {
	l := Log{Dir: t.TempDir(), MaxBytes: 1000}
	fill(t, l, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var got []string
	done := make(chan error)
	began := make(chan bool, 1)
	go func() {
		began <- true
		done <- l.Follow(ctx, 5*time.Millisecond, func(line Line) error {
			got = append(got, line.Entry.Command)
			if len(got) == 20 {
				cancel()
			}
			return nil
		})
	}()
	<-began
	time.Sleep(50 * time.Millisecond)
	for i := range 20 {
		if err := l.Append(entry(i)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(7 * time.Millisecond)
	}
	if err := <-done; err != nil || len(got) != 20 || got[0] != entry(0).Command || got[19] != entry(19).Command {
		t.Errorf("%q %v", got, err)
	}
}

func BenchmarkAppend(b *testing.B) {
	l := Log{Dir: b.TempDir()}
	for i := 0; b.Loop(); i++ {
		if err := l.Append(entry(i)); err != nil {
			b.Fatal(err)
		}
	}
}
