package receipt

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

var started = time.Date(2026, 5, 4, 3, 2, 1, 123e6, time.UTC)

func sample(name string) Receipt {
	return Receipt{
		Versions: Versions{Launcher: "v1.0.0", Harness: "2.1.0", Engine: "20.10.24", API: "1.41", Kernel: "6.1.0"},
		Started:  started,
		Ended:    started.Add(3 * time.Second),
		Plan: &plan.Plan{
			Label: "claude-box", Name: name,
			Env:      []plan.Env{{Name: "GITHUB_TOKEN", Reason: "forwarded"}},
			Command:  plan.Command{Argv: []string{"claude", "-p", "hello"}},
			Warnings: []string{"w"},
		},
		Images:  []Image{{Ref: "claude-box", ID: "sha256:1"}},
		Engine:  Engine{Endpoint: "unix:///var/run/docker.sock", Source: "the default socket", ID: "X"},
		Phases:  []Phase{{Name: "build", Seconds: 0.5}},
		Exit:    Exit{Status: 137, Fault: &Fault{Kind: "out-of-memory", Detail: "d"}, OOMKilled: true},
		Network: &Network{At: time.Unix(3, 0).UTC(), ReceivedBytes: 1, SentBytes: 2},
	}
}

func TestWriteAndRead(t *testing.T) {
	store := Store{Dir: filepath.Join(t.TempDir(), "state", "receipts")}
	path, err := store.Write(sample("box-1"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{path: 0o600, store.Dir: 0o700 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	entry, err := store.Find("box-1")
	if err != nil {
		t.Fatal(err)
	}
	got, err := entry.Read()
	if err != nil {
		t.Fatal(err)
	}
	want := sample("box-1")
	want.Schema, want.ID = Schema, "20260504T030201.123Z-box-1"
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Error(diff)
	}
	left, err := os.ReadDir(store.Dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left beside the receipt: %v, %v", left, err)
	}
}

// The fields that docs/receipts.md promises, by the names that it gives.
func TestSchema(t *testing.T) {
	text, err := os.ReadFile("../../docs/receipts.md")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(sample("box"))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range paths("", fields) {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/receipts.md does not name %s", name)
		}
	}
}

// paths names the fields of a JSON value; those of the plan are its own.
func paths(prefix string, value any) []string {
	var all []string
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			path := strings.TrimPrefix(prefix+"."+name, ".")
			all = append(all, path)
			if path != "plan" {
				all = append(all, paths(path, inner)...)
			}
		}
	case []any:
		for _, inner := range v {
			all = append(all, paths(prefix+"[]", inner)...)
		}
	}
	return all
}

func TestListFindAndOld(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	now := time.Now()
	write := func(name string, age time.Duration) {
		r := sample(name)
		r.Started = now.Add(-age)
		path, err := store.Write(r)
		if err == nil {
			err = os.Chtimes(path, r.Started, r.Started)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("twice", 3*time.Hour)
	write("old", 2*time.Hour)
	write("twice", time.Minute)
	torn := filepath.Join(store.Dir, "x.json.123.tmp")
	busy := filepath.Join(store.Dir, "y.json.123.tmp")
	long := now.Add(-2 * abandoned)
	err := errors.Join(os.WriteFile(torn, nil, 0o600), os.Chtimes(torn, long, long), os.WriteFile(busy, nil, 0o600),
		os.Symlink("/etc/passwd", filepath.Join(store.Dir, "z.json")))
	if err != nil {
		t.Fatal(err)
	}

	list, err := store.List()
	if err != nil || len(list) != 3 || !strings.HasSuffix(list[1].ID, "-old") {
		t.Fatalf("%+v, %v", list, err)
	}
	for id, want := range map[string]int{"old": 0, list[1].ID: 0, list[1].ID[:20]: 0, "twice": 0, "absent": 0, "": 0, "../x": 0} {
		_, err := store.Find(id)
		var missing *NotFoundError
		if found := id == "twice" || strings.Contains(list[1].ID, id) && id != ""; found != (err == nil) {
			t.Errorf("find %q: %v", id, err)
		} else if err != nil && (!errors.As(err, &missing) || missing.Matches != want) {
			t.Errorf("find %q: %v", id, err)
		}
	}

	if e, err := store.Find("twice"); err != nil || e.ID != list[0].ID {
		t.Errorf("of a box with two receipts the newest is meant: %+v, %v", e, err)
	}

	old, err := store.Old(now.Add(-time.Hour), now)
	if err != nil || len(old) != 3 {
		t.Fatalf("%+v, %v", old, err)
	}
	if err := errors.Join(store.Remove(old), store.Remove(old)); err != nil {
		t.Error(err)
	}
	if list, err := store.List(); err != nil || len(list) != 1 || !strings.HasSuffix(list[0].ID, "-twice") {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := os.Stat(busy); err != nil {
		t.Errorf("a receipt that is being written: %v", err)
	}
}

func TestNoReceiptsYet(t *testing.T) {
	store := Store{Dir: filepath.Join(t.TempDir(), "none")}
	if list, err := store.List(); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if old, err := store.Old(time.Now(), time.Now()); err != nil || len(old) != 0 {
		t.Errorf("%v, %v", old, err)
	}
}

func TestWriteStaysInItsDirectory(t *testing.T) {
	dir := t.TempDir()
	store := Store{Dir: filepath.Join(dir, "receipts")}
	for _, id := range []string{"../x", "a/b", ".hidden", strings.Repeat("x", 300)} {
		r := sample("box")
		r.ID = id
		if path, err := store.Write(r); err == nil {
			t.Errorf("%q was written to %s", id, path)
		}
	}
}

func TestNewerSchema(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(store.Dir, "a.json"), []byte(`{"schema":99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	entry, err := store.Find("a")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := entry.Read(); err == nil {
		t.Errorf("read as %+v", r)
	}
}

// A reader finds whole receipts only, while others write.
func TestReceiptsAreNeverTorn(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 50 {
				if _, err := store.Write(sample("box")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for {
		list, err := store.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if _, err := e.Read(); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

func TestHide(t *testing.T) {
	env := []string{
		"GITHUB_TOKEN=ghp_0123456789abcdef",
		"MY_API_KEY=ghp_0123456789",
		"HTTPS_PROXY=http://user:s3cret-pass@proxy.example:3128",
		"DB_PASSWORD=kurz",
		"HOME=/home/alice",
		"EMPTY_SECRET=",
	}
	r := sample("box")
	r.Plan.Command.Argv = []string{"sh", "-c", "curl -H 'Authorization: ghp_0123456789abcdef' /home/alice", "kurz"}
	r.Plan.Warnings = []string{"proxy http://user:s3cret-pass@proxy.example:3128"}
	r.Exit.Fault.Detail = "dial http://user:s3cret-pass@proxy.example:3128: refused"
	r.Engine.Endpoint = "http://user:other-pass@engine.example:2375"
	planned := r.Plan
	r.Hide(env)
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"ghp_", "s3cret-pass", "other-pass"} {
		if strings.Contains(string(raw), secret) {
			t.Errorf("%s is in the receipt: %s", secret, raw)
		}
	}
	want := []string{"sh", "-c", "curl -H 'Authorization: $GITHUB_TOKEN' /home/alice", "kurz"}
	if diff := cmp.Diff(want, r.Plan.Command.Argv); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(planned.Command.Argv[2], "ghp_") {
		t.Error("the caller's plan was changed")
	}
}

// TestReadRefuses: what is not a receipt is not shown as one.
func TestReadRefuses(t *testing.T) {
	for _, text := range []string{"null", "{}", "[]", `{"id": "\u001b[31mX\nY"}`, `{"id": "../x"}`, `{"schema": 99, "id": "x"}`} {
		path := filepath.Join(t.TempDir(), "x.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := (Entry{Path: path}).Read(); err == nil {
			t.Errorf("%s: read as %+v", text, r)
		}
	}
}
