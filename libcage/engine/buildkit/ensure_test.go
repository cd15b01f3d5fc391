package buildkit

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/image"
)

// A chain is built, found up to date in one call, and rebuilt from the parent
// on when that changes; the replaced images are gone afterwards.
func TestEnsureOnAnEngine(t *testing.T) {
	e := liveEngine(t)
	var mu sync.Mutex
	var calls []string
	removed := 0
	c, err := engine.Open(t.Context(), engine.Options{Getenv: os.Getenv, Home: os.Getenv("HOME"), Trace: func(call string, d time.Duration, err error) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, call)
		t.Logf("%s: %v %v", call, d, err)
		// A store of containerd drops an image with its last name.
		if call == "ImageRemove" && (err == nil || strings.Contains(err.Error(), "No such image")) {
			removed++
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skipf("the test needs a program to put into the image: %v", err)
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	name := "agent-cage-ensure-test:" + strings.ToLower(rand.Text()[:10])
	parent := image.Spec{
		Ref: name + "-parent", Base: base, BaseArg: "BASE",
		Context: fstest.MapFS{"Dockerfile": {Data: []byte("ARG BASE\nFROM ${BASE}\nCOPY program /program\n")}},
		Inputs: func(string) (image.Inputs, error) {
			return image.Inputs{Binaries: map[string]string{"program": path}}, nil
		},
	}
	child := image.Spec{
		Ref: name + "-child", Base: parent.Ref, BaseArg: "BASE",
		Context: fstest.MapFS{"Dockerfile": {Data: []byte("ARG BASE\nFROM ${BASE}\nRUN test -x /program\n")}},
	}
	t.Cleanup(func() {
		for _, ref := range []string{child.Ref, parent.Ref} {
			if err := e.Remove(context.Background(), ref); err != nil {
				t.Error(err)
			}
		}
	})
	var log bytes.Buffer
	opts := image.Options{StateDir: t.TempDir(), Log: &log, Now: func() time.Time { return time.Now().Add(time.Minute) }}
	ensure := func() image.Result {
		t.Helper()
		calls = nil
		start := time.Now()
		result, err := image.Ensure(t.Context(), Engine{Client: c}, []image.Spec{parent, child}, opts)
		if err != nil {
			t.Fatalf("%v\n%s", err, log.String())
		}
		t.Logf("%v in %v", result, time.Since(start))
		return result
	}
	first := ensure()
	if !slices.Equal(first.Built, []string{parent.Ref, child.Ref}) {
		t.Errorf("built %v", first.Built)
	}
	if again := ensure(); !slices.Equal(again.Images, first.Images) || again.Built != nil || !slices.Equal(calls, []string{"ImageList"}) {
		t.Errorf("%+v with %v", again, calls)
	}
	parent.Labels = map[string]string{"dev.agent-cage.test": "changed"}
	second := ensure()
	if len(second.Built) != 2 || slices.Equal(second.Images, first.Images) {
		t.Errorf("%+v", second)
	}
	if removed != 2 {
		t.Errorf("%d of 2 replaced images are gone", removed)
	}
	if again := ensure(); again.Built != nil {
		t.Errorf("built %v", again.Built)
	}
}
