package image

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

// fakeEngine is a store in memory in which every build gives a new image.
type fakeEngine struct {
	mu     sync.Mutex
	store  map[string]Stored
	calls  []string
	builds []Build
	arch   string
	count  int
	// onBuild runs during a build; its error is the build's.
	onBuild func(Build) error
}

func newFakeEngine() *fakeEngine {
	return &fakeEngine{store: map[string]Stored{"base:1": {ID: "sha256:base"}}, arch: "amd64"}
}

func (f *fakeEngine) Images(_ context.Context, refs ...string) (map[string]Stored, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, "images")
	found := map[string]Stored{}
	for _, ref := range refs {
		if stored, ok := f.store[ref]; ok {
			found[ref] = stored
		}
	}
	return found, nil
}

func (f *fakeEngine) Platform(context.Context) (Platform, error) {
	f.calls = append(f.calls, "platform")
	return Platform{ID: "engine", OS: "linux", Arch: f.arch}, nil
}

func (f *fakeEngine) Build(_ context.Context, build Build, _ Progress) error {
	if f.onBuild != nil {
		if err := f.onBuild(build); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, "build "+build.Ref)
	f.builds = append(f.builds, build)
	f.count++
	f.store[build.Ref] = Stored{ID: fmt.Sprintf("sha256:%d", f.count), Labels: build.Labels}
	return nil
}

func (f *fakeEngine) Remove(_ context.Context, id string) error {
	f.calls = append(f.calls, "remove "+id)
	return nil
}

// elf is the start of a program for amd64.
const elf = "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00 and the rest"

type fixture struct {
	engine  *fakeEngine
	files   fstest.MapFS
	program string
	args    map[string]string
	opts    Options
	notices []string
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{
		engine:  newFakeEngine(),
		files:   fstest.MapFS{"Dockerfile": {Data: []byte("FROM x\n")}, "dir/tool": {Data: []byte("#!/bin/sh\n"), Mode: 0o755}},
		program: filepath.Join(t.TempDir(), "cage-init"),
		args:    map[string]string{"VERSION": "1"},
	}
	if err := os.WriteFile(f.program, []byte(elf), 0o755); err != nil {
		t.Fatal(err)
	}
	f.opts = Options{StateDir: t.TempDir(), Notice: func(line string) { f.notices = append(f.notices, line) }}
	return f
}

func (f *fixture) chain() []Spec {
	return []Spec{
		{Ref: "cage:1", Context: f.files, Base: "base:1", BaseArg: "BASE", Inputs: func(string) (Inputs, error) {
			return Inputs{Binaries: map[string]string{"cage-init": f.program}}, nil
		}},
		{Ref: "claude:1", Context: fstest.MapFS{"Dockerfile": {Data: []byte("FROM cage\n")}}, Base: "cage:1", BaseArg: "BASE", Inputs: func(arch string) (Inputs, error) {
			args := maps.Clone(f.args)
			args["ARCH"] = arch
			return Inputs{Args: args}, nil
		}},
	}
}

func (f *fixture) ensure(t *testing.T) Result {
	t.Helper()
	f.engine.calls, f.engine.builds, f.notices = nil, nil, nil
	result, err := Ensure(t.Context(), f.engine, f.chain(), f.opts)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestFirstBuild(t *testing.T) {
	f := newFixture(t)
	f.opts.ProxyArgs = map[string]string{"http_proxy": "http://p"}
	f.opts.Secrets = map[string]func() []byte{"ca": func() []byte { return []byte("pem") }}
	result := f.ensure(t)
	want := Result{Built: []string{"cage:1", "claude:1"}, Images: []Current{
		{Ref: "cage:1", ID: "sha256:1", Inputs: f.engine.store["cage:1"].Labels[InputsLabel]},
		{Ref: "claude:1", ID: "sha256:2", Inputs: f.engine.store["claude:1"].Labels[InputsLabel]},
	}}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"building cage:1", "building claude:1"}, f.notices); diff != "" {
		t.Error(diff)
	}
	claude := f.engine.builds[1]
	if diff := cmp.Diff(map[string]string{"BASE": "cage:1", "VERSION": "1", "ARCH": "amd64", "http_proxy": "http://p"}, claude.Args); diff != "" {
		t.Error(diff)
	}
	if claude.Labels[InputsLabel] == "" || claude.Labels[ParentLabel] != "sha256:1" || claude.Labels[ArchLabel] != "amd64" {
		t.Errorf("labels %v", claude.Labels)
	}
	for _, label := range claude.Labels {
		if strings.Contains(label, "pem") || strings.Contains(label, "http://p") {
			t.Errorf("label %q", label)
		}
	}
	if claude.Platform != "linux/amd64" || string(claude.Secrets["ca"]) != "pem" {
		t.Errorf("%+v", claude)
	}
	var names []string
	err := fs.WalkDir(f.engine.builds[0].Context, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if diff := cmp.Diff([]string{"Dockerfile", "cage-init", "dir/tool"}, names); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if text, err := fs.ReadFile(f.engine.builds[0].Context, "cage-init"); string(text) != elf || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestUpToDateIsOneCall(t *testing.T) {
	f := newFixture(t)
	f.ensure(t)
	result := f.ensure(t)
	if diff := cmp.Diff([]string{"images"}, f.engine.calls); diff != "" {
		t.Error(diff)
	}
	if len(result.Images) != 2 || result.Images[1].ID != "sha256:2" || result.Built != nil || f.notices != nil {
		t.Errorf("%+v, %v", result, f.notices)
	}
}

func TestWhatMakesAnImageStale(t *testing.T) {
	both, last, none := []string{"cage:1", "claude:1"}, []string{"claude:1"}, []string(nil)
	for name, test := range map[string]struct {
		change func(*fixture)
		want   []string
	}{
		"Dockerfile":           {func(f *fixture) { f.files["Dockerfile"].Data = []byte("FROM y\n") }, both},
		"new file":             {func(f *fixture) { f.files["new"] = &fstest.MapFile{} }, both},
		"renamed file":         {func(f *fixture) { f.files["dir/tool2"] = f.files["dir/tool"]; delete(f.files, "dir/tool") }, both},
		"executable bit":       {func(f *fixture) { f.files["dir/tool"].Mode = 0o644 }, both},
		"umask of a checkout":  {func(f *fixture) { f.files["Dockerfile"].Mode = 0o600 }, none},
		"time of a file":       {func(f *fixture) { f.files["Dockerfile"].ModTime = time.Now() }, none},
		"in-box binary":        {func(f *fixture) { _ = os.WriteFile(f.program, []byte(elf+"!"), 0o755) }, both},
		"argument":             {func(f *fixture) { f.args["VERSION"] = "2" }, last},
		"new base":             {func(f *fixture) { f.engine.store["base:1"] = Stored{ID: "sha256:newer"} }, both},
		"base was removed":     {func(f *fixture) { delete(f.engine.store, "base:1") }, none},
		"parent was removed":   {func(f *fixture) { delete(f.engine.store, "cage:1") }, both},
		"image was removed":    {func(f *fixture) { delete(f.engine.store, "claude:1") }, last},
		"image of other hands": {func(f *fixture) { f.engine.store["claude:1"] = Stored{ID: "sha256:x"} }, last},
		"proxy":                {func(f *fixture) { f.opts.ProxyArgs = map[string]string{"http_proxy": "x"} }, none},
		"secret": {func(f *fixture) {
			f.opts.Secrets = map[string]func() []byte{"ca": func() []byte { panic("nothing is built") }}
		}, none},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.ensure(t)
			test.change(f)
			if diff := cmp.Diff(test.want, f.ensure(t).Built); diff != "" {
				t.Error(diff)
			}
			if built := f.ensure(t).Built; built != nil {
				t.Errorf("afterwards %v was built again", built)
			}
		})
	}
}

func TestReplacedImagesAreRemoved(t *testing.T) {
	f := newFixture(t)
	f.ensure(t)
	f.engine.store["base:1"] = Stored{ID: "sha256:newer"}
	f.ensure(t)
	want := []string{"remove sha256:2", "remove sha256:1"}
	if diff := cmp.Diff(want, f.engine.calls[len(f.engine.calls)-2:]); diff != "" {
		t.Error(diff)
	}
	f.engine.store["claude:1"] = Stored{ID: "sha256:of other hands"}
	f.ensure(t)
	if slices.Contains(f.engine.calls, "remove sha256:of other hands") {
		t.Error("an image of other hands was removed")
	}
}

func TestBaseFetchedByTheBuilderOnly(t *testing.T) {
	f := newFixture(t)
	delete(f.engine.store, "base:1")
	f.ensure(t)
	if built := f.ensure(t).Built; built != nil {
		t.Errorf("built %v again", built)
	}
	f.engine.store["base:1"] = Stored{ID: "sha256:now"}
	if built := f.ensure(t).Built; len(built) != 2 {
		t.Errorf("built %v", built)
	}
}

func wantFault(t *testing.T, err error, texts ...string) {
	t.Helper()
	var fault *exitstatus.Fault
	if !errors.As(err, &fault) || fault.Kind != exitstatus.ImageMissing {
		t.Fatalf("%T %v", err, err)
	}
	for _, text := range texts {
		if !strings.Contains(fault.Error(), text) {
			t.Errorf("%q does not say %q", fault.Error(), text)
		}
	}
}

func TestFailedBuild(t *testing.T) {
	for cause, text := range map[Cause]string{StepFailed: "boom", NoSpace: "free space", BaseMissing: "ci/bootstrap"} {
		f := newFixture(t)
		var log bytes.Buffer
		f.opts.Log = &log
		f.engine.onBuild = func(b Build) error {
			return &BuildError{Ref: b.Ref, Cause: cause, Log: "step 1\nstep 2\n", Err: errors.New("boom")}
		}
		_, err := Ensure(t.Context(), f.engine, f.chain(), f.opts)
		wantFault(t, err, "cage:1", text)
		if log.String() != "step 1\nstep 2\n" {
			t.Errorf("log %q", log.String())
		}
	}
}

func TestErrorsOfTheEngineStayWhatTheyAre(t *testing.T) {
	f := newFixture(t)
	lost := errors.New("lost")
	f.engine.onBuild = func(Build) error { return lost }
	if _, err := Ensure(t.Context(), f.engine, f.chain(), f.opts); !errors.Is(err, lost) {
		t.Errorf("%v", err)
	}
}

func TestBinaryOfAnotherArchitecture(t *testing.T) {
	f := newFixture(t)
	f.engine.arch = "arm64"
	_, err := Ensure(t.Context(), f.engine, f.chain(), f.opts)
	wantFault(t, err, f.program, "linux/amd64", "linux/arm64")
	if err := os.WriteFile(f.program, []byte("#!/bin/sh\necho this is a script\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Ensure(t.Context(), f.engine, f.chain(), f.opts)
	wantFault(t, err, "no ELF program")
	if len(f.engine.builds) > 0 {
		t.Error("something was built")
	}
}

func TestMissingBinary(t *testing.T) {
	f := newFixture(t)
	os.Remove(f.program)
	_, err := Ensure(t.Context(), f.engine, f.chain(), f.opts)
	wantFault(t, err, f.program)
}

// Two callers at once: one builds, the other waits, says so and builds nothing.
func TestTwoBuilders(t *testing.T) {
	f := newFixture(t)
	building, waits := make(chan bool), make(chan bool)
	f.engine.onBuild = func(b Build) error {
		if b.Ref == "cage:1" {
			building <- true
			<-waits
		}
		return nil
	}
	results := make(chan Result, 2)
	ensure := func(opts Options) {
		result, err := Ensure(t.Context(), f.engine, f.chain(), opts)
		if err != nil {
			t.Error(err)
		}
		results <- result
	}
	first, second := f.opts, f.opts
	first.Notice = nil
	var said []string
	second.Notice = func(line string) {
		if said = append(said, line); len(said) == 1 {
			close(waits)
		}
	}
	go ensure(first)
	<-building
	go ensure(second)
	a, b := <-results, <-results
	if !slices.Equal(a.Images, b.Images) || len(f.engine.builds) != 2 {
		t.Errorf("%+v, %+v, %d builds", a, b, len(f.engine.builds))
	}
	if len(said) == 0 || said[0] != "waiting for another build of cage:1" {
		t.Errorf("said %q", said)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	dir := t.TempDir()
	release, err := lockBuild(t.Context(), dir, "engine", "ref", func() { t.Error("waited") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := lockBuild(ctx, dir, "engine", "ref", cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	for _, other := range [][2]string{{"engine", "ref2"}, {"engine2", "ref"}} {
		release, err := lockBuild(t.Context(), dir, other[0], other[1], func() { t.Errorf("%v waited", other) })
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
	release()
	release, err = lockBuild(t.Context(), dir, "engine", "ref", func() { t.Error("waited after the release") })
	if err != nil {
		t.Fatal(err)
	}
	release()
}

// TestMain lets the test program stand in for another builder: it takes the lock
// of the directory that the variable names and keeps it until it is killed.
func TestMain(m *testing.M) {
	dir := os.Getenv("IMAGE_TEST_HOLD_LOCK")
	if dir == "" {
		os.Exit(m.Run())
	}
	if _, err := lockBuild(context.Background(), dir, "engine", "ref", func() {}); err != nil {
		os.Exit(1)
	}
	fmt.Println("locked")
	select {}
}

func TestADeadBuilderBlocksNobody(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	builder := exec.Command(self)
	builder.Env = append(os.Environ(), "IMAGE_TEST_HOLD_LOCK="+dir)
	stdout, err := builder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := builder.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "locked\n" {
		t.Fatalf("%q, %v", line, err)
	}
	waited := false
	release, err := lockBuild(t.Context(), dir, "engine", "ref", func() {
		waited = true
		if err := builder.Process.Kill(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	release()
	_ = builder.Wait() // it was killed
	if !waited {
		t.Error("the lock of a living builder was taken")
	}
}

func TestNamesInContextAndBinaries(t *testing.T) {
	if _, err := newContext(fstest.MapFS{"sbox": {}}, map[string]string{"sbox": "/x"}); err == nil {
		t.Error("no error for a name that both have")
	}
}

// A link is an input for where it leads; what is there is none of the context's.
func TestLinksInAContext(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	hashed := func(target, content string) string {
		t.Helper()
		link := filepath.Join(dir, "link")
		_ = os.Remove(link)
		if err := errors.Join(os.WriteFile(outside, []byte(content), 0o600), os.Symlink(target, link)); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		files, err := newContext(root.FS(), nil)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := inputsHash(Spec{Context: files}, Inputs{}, "amd64", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	one := hashed(outside, "one")
	if hashed(outside, "two") != one {
		t.Error("what a link leads to outside is hashed")
	}
	if hashed("elsewhere", "one") == one {
		t.Error("where a link leads makes no difference")
	}
}

func TestProxyArgs(t *testing.T) {
	got := ProxyArgs(func(name string) string {
		return map[string]string{"HTTPS_PROXY": "a", "no_proxy": "b", "NO_PROXY": "other", "HOME": "c"}[name]
	})
	if diff := cmp.Diff(map[string]string{"HTTPS_PROXY": "a", "no_proxy": "b"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFindBinaries(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{"bin/claude-box", "libexec/agent-cage/cage-init", "libexec/cage-init", "libexec/sbox", "libexec/linux-arm64/cage-init", "libexec/linux-arm64/sbox"} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "claude-box")
	if err := os.Symlink(filepath.Join(root, "bin/claude-box"), link); err != nil {
		t.Fatal(err)
	}
	none := func(string) string { return "" }
	for arch, want := range map[string]string{"amd64": "libexec", "arm64": "libexec/linux-arm64"} {
		// libexec/agent-cage has only one of the two.
		found, err := FindBinaries(LibexecDirs(link, none), arch, "cage-init", "sbox")
		if err != nil || found["sbox"] != filepath.Join(root, want, "sbox") || found["cage-init"] != filepath.Join(root, want, "cage-init") {
			t.Errorf("%s: %v, %v", arch, found, err)
		}
	}
	dirs := LibexecDirs(link, func(name string) string { return map[string]string{LibexecVar: "/elsewhere"}[name] })
	if !slices.Equal(dirs, []string{"/elsewhere"}) {
		t.Errorf("%v", dirs)
	}
	_, err := FindBinaries(dirs, "amd64", "sbox")
	var missing *MissingBinariesError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "/elsewhere") {
		t.Errorf("%v", err)
	}
}
