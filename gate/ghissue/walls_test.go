package ghissue

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-github/v84/github"
	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/gate"
	"github.com/agent-cage/agent-cage/internal/githubserver"
)

func TestTheTokenIsAPrivateFile(t *testing.T) {
	const name = ".config/agent-cage/github-token"
	w := newWorld(t)
	w.good("list") // the file as it should be
	token := filepath.Join(w.home, name)
	for what, c := range map[string]struct {
		spoil func()
		want  string
	}{
		"missing":         {func() { os.Remove(token) }, "no token: a human has to write one"},
		"group can read":  {func() { w.write(name, secret, 0o640) }, "mode 0640"},
		"others can read": {func() { w.write(name, secret, 0o604) }, "mode 0604"},
		"executable":      {func() { w.write(name, secret, 0o700) }, "mode 0700"},
		"symlink": {func() {
			os.Remove(token)
			os.Symlink(w.write("token", secret, 0o600), token)
		}, "a symlink"},
		"hard link": {func() {
			os.Remove(token)
			os.Link(w.write("token", secret, 0o600), token)
		}, "hard links"},
		"directory": {func() { os.Remove(token); os.Mkdir(token, 0o700) }, "not a regular file"},
		"fifo":      {func() { os.Remove(token); unix.Mkfifo(token, 0o600) }, "not a regular file"},
		"empty":     {func() { w.write(name, "\n", 0o600) }, "not one line with a token"},
		"two lines": {func() { w.write(name, secret+"\n"+secret, 0o600) }, "not one line with a token"},
		"a header":  {func() { w.write(name, "x\r\nHost: y", 0o600) }, "not one line with a token"},
		"directory for all": {func() {
			w.write(name, secret, 0o600)
			os.Chmod(filepath.Dir(token), 0o777)
		}, "writable by others"},
		"another's": {func() {
			w.write(name, secret, 0o600)
			os.Chown(token, 1234, -1)
		}, "owned by uid 1234"},
	} {
		if what == "another's" && os.Geteuid() != 0 {
			t.Log("giving a file away needs root: not tried")
			continue
		}
		os.RemoveAll(token)
		os.Chmod(filepath.Dir(token), 0o755)
		c.spoil()
		w.server.Seen()
		w.bad(StatusFailed, []string{c.want}, "list")
		if len(w.server.Seen()) != 0 {
			t.Errorf("%s: a request was sent", what)
		}
	}
}

func TestTheTokenComesFromTheFileAlone(t *testing.T) {
	w := newWorld(t)
	os.Remove(filepath.Join(w.home, ".config/agent-cage/github-token"))
	w.environ = append(w.environ, "GITHUB_TOKEN="+secret, "GH_TOKEN="+secret, "GH_ISSUE_TOKEN="+secret)
	w.bad(StatusFailed, []string{"no token"}, "list")
}

func TestRepositoriesAreThoseOfTheSettings(t *testing.T) {
	w := newWorld(t)
	w.bad(StatusFailed, []string{"acme/secret is not among the repositories"}, "list", "--repo", "acme/secret")
	w.bad(StatusFailed, []string{"(404)"}, "list", "--repo", "acme/other") // allowed, and the server has none
	w.good("list", "--repo", "ACME/App")
	w.environ = append(w.environ, "GH_ISSUE_REPO=evil/app")
	w.bad(StatusFailed, []string{"evil/app is not among"}, "list")
	w.config("")
	w.bad(StatusFailed, []string{"not among the repositories"}, "list", "--repo", "acme/app")
	os.Remove(filepath.Join(w.home, ".config/agent-cage/gate.toml"))
	w.bad(StatusFailed, []string{"not among the repositories"}, "list", "--repo", "acme/app")
}

// A label's name would lead the request to another repository: the library
// puts it into the URL as it is.
func TestALabelIsNoPath(t *testing.T) {
	const name = "../../../../other/issues/1/labels/x"
	w := newWorld(t)
	w.server.AddIssue("ann", "x", "")
	w.bad(StatusUsage, []string{"not the name of a label"}, "label", "1", "--remove", name)

	base, err := url.Parse(w.url + "/api/v3/")
	if err != nil {
		t.Fatal(err)
	}
	bare := github.NewClient(nil).WithAuthToken(secret)
	bare.BaseURL = base
	w.server.Seen()
	_, _ = bare.Issues.RemoveLabelForIssue(t.Context(), "acme", "app", 1, name)
	if s := w.server.Seen(); len(s) != 1 || s[0].Path != "/api/v3/repos/acme/other/issues/1/labels/x" {
		t.Fatalf("the attack does not reach the other repository: %v", s)
	}

	env := Env{Environ: w.environ, Dir: w.project, UID: os.Geteuid(), System: w.home + "/etc", last: &lastRequest{}}
	s, err := env.open("acme/app", "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.gh.Issues.RemoveLabelForIssue(t.Context(), "acme", "app", 1, name)
	if err == nil || !strings.Contains(err.Error(), "is not in the repository acme/app") || len(w.server.Seen()) != 0 {
		t.Errorf("the border let it through: %v", err)
	}
}

func TestTheBorder(t *testing.T) {
	parse := func(s string) *url.URL {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	b := border{parse("https://gh.test/api/v3/"), parse("https://gh.test/api/graphql"), gate.Repository{Owner: "acme", Name: "app"}}
	for line, want := range map[string]bool{
		"GET https://gh.test/api/v3/repos/acme/app":                          true,
		"GET https://gh.test/api/v3/repos/Acme/App/issues?page=2":            true,
		"DELETE https://gh.test/api/v3/repos/acme/app/issues/1/labels/a%2Fb": true,
		"POST https://gh.test/api/graphql":                                   true,
		"GET https://gh.test/api/graphql":                                    false,
		"GET https://gh.test/api/v3/repos/acme/app2":                         false,
		"GET https://gh.test/api/v3/repos/acme/other/issues":                 false,
		"GET https://gh.test/api/v3/repos/acme/app/../other":                 false,
		"GET https://gh.test/api/v3/repos/acme/app/%2e%2e/other":             false,
		"GET https://gh.test/api/v3/user":                                    false,
		"GET https://gh.test/api/v3/repositories/1/issues":                   false,
		"GET http://gh.test/api/v3/repos/acme/app":                           false,
		"GET https://gh.test:8443/api/v3/repos/acme/app":                     false,
		"GET https://gh.test.evil/api/v3/repos/acme/app":                     false,
		"GET https://x@gh.test/api/v3/repos/acme/app":                        false,
	} {
		method, u, _ := strings.Cut(line, " ")
		if got := b.holds(method, parse(u)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

func TestRedirects(t *testing.T) {
	w := newWorld(t)
	w.server.AddIssue("ann", "It's broken", "")
	// Within the repository a GET follows.
	w.server.Fail(githubserver.Moved(http.StatusMovedPermanently, "/api/v3/repos/acme/app/issues/1"))
	if got := w.good("view", "7"); !strings.Contains(got, "It's broken") {
		t.Errorf("got %q", got)
	}
	var got atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		got.Add(1)
		rw.Write([]byte(`{"number": 1, "title": "theirs"}`))
	}))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for to, want := range map[string]string{
			other.URL + "/api/v3/repos/acme/app/issues/1":                           "redirected to " + other.URL,
			"/api/v3/repositories/99/issues/1":                                      "not in the repository",
			"/api/v3/repos/acme/other/issues/1":                                     "not in the repository",
			strings.Replace(w.url, "http:", "https:", 1) + "/api/v3/repos/acme/app": "not in the repository",
		} {
			w.server.Fail(githubserver.Moved(status, to))
			w.bad(StatusFailed, []string{want, "named anew in gate.toml"}, "view", "1")
		}
		w.server.Fail(githubserver.Moved(status, "/api/v3/repos/acme/app/issues/1"))
		w.server.Seen()
		w.bad(StatusFailed, []string{"a change is not sent elsewhere"}, "close", "1")
		if c := w.changes(); len(c) != 1 {
			t.Errorf("%d: the change was sent %d times", status, len(c))
		}
	}
	if got.Load() != 0 {
		t.Errorf("the other host got %d requests", got.Load())
	}
	loop := githubserver.Moved(http.StatusFound, "/api/v3/repos/acme/app/issues/1")
	w.server.Fail(loop, loop, loop, loop, loop)
	w.bad(StatusFailed, []string{"too many redirects"}, "view", "1")
}

func TestCertificatesOfTheZoneAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, kv := range []string{
		"SSL_CERT_FILE=" + w.project + "/ca.pem", "SSL_CERT_FILE=ca.pem", "SSL_CERT_DIR=/etc/ssl/certs:/tmp/x",
	} {
		plain := w.environ
		w.environ = append(w.environ, kv)
		w.bad(StatusFailed, []string{"is in the zone"}, "list")
		w.environ = plain
	}
	w.environ = append(w.environ, "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt")
	w.good("list")
}

func TestBodiesAreRegularFilesOfTheZone(t *testing.T) {
	w := newWorld(t)
	w.server.AddIssue("ann", "x", "")
	key := w.write(".ssh/id", "-----BEGIN KEY-----", 0o600)
	in := func(name string) string { return filepath.Join(w.project, name) }
	w.write("projects/app/sub/good.md", "text", 0o644)
	for _, name := range []string{"sub/good.md", "./sub/../sub/good.md", in("sub/good.md")} {
		w.good("comment", "1", "--body-file", name)
	}
	w.write("projects/app/nul", "a\x00b", 0o644)
	w.write("projects/app/latin", "caf\xe9", 0o644)
	w.write("projects/app/blank", " \n", 0o644)
	w.write("projects/app/large", strings.Repeat("x", maxBody+1), 0o644)
	w.write(".cache/tool/token", "x", 0o600)
	for _, err := range []error{
		os.Symlink(key, in("link")), os.Symlink(w.home+"/.ssh", in("keys")), os.Symlink("sub", in("inner")),
		os.Link(key, in("hard")), unix.Mkfifo(in("fifo"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.server.Seen()
	for name, want := range map[string]string{
		key:                           "not in the zone",
		"../../.ssh/id":               "not in the zone",
		"/etc/passwd":                 "not in the zone",
		"/proc/self/environ":          "not in the zone",
		"-":                           "no such file",
		"link":                        "a symlink",
		"keys/id":                     "a symlink",
		"inner/good.md":               "a symlink",
		"hard":                        "hard links",
		"fifo":                        "not a regular file",
		"sub":                         "not a regular file",
		"missing":                     "no such file",
		"nul":                         "not text",
		"latin":                       "not text",
		"blank":                       "empty",
		"large":                       "larger than",
		w.home + "/projects":          "not in the zone",
		w.home + "/.cache/tool/token": "holds more than an agent's own files",
	} {
		w.bad(StatusFailed, []string{"--body-file " + name, want}, "comment", "1", "--body-file", name)
	}
	if c := w.server.Seen(); len(c) != 0 {
		t.Errorf("requests were sent: %v", c)
	}
}

// The zone's own root may be a symlink: nothing that is caged made it.
func TestABodyBelowALinkedRoot(t *testing.T) {
	w := newWorld(t)
	w.server.AddIssue("ann", "x", "")
	w.write("projects/app/body.md", "text", 0o644)
	if err := os.Rename(w.home+"/projects", w.home+"/code"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("code", w.home+"/projects"); err != nil {
		t.Fatal(err)
	}
	w.good("comment", "1", "--body-file", w.home+"/projects/app/body.md")
	w.good("comment", "1", "--body-file", w.home+"/code/app/body.md")
}

func TestWhatIsMaskedIsNoBody(t *testing.T) {
	w := newWorld(t)
	w.server.AddIssue("ann", "x", "")
	w.write("projects/app/private/notes.md", "text", 0o644)
	w.good("comment", "1", "--body-file", "private/notes.md")
	w.write(".config/agent-cage/zone.toml", "mask = ['~/projects/app/private']\n", 0o600)
	w.bad(StatusFailed, []string{"holds more than"}, "comment", "1", "--body-file", "private/notes.md")
}
