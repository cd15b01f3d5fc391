package netgit

import (
	"bytes"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	user := settings{
		{"url.https://git.example/.insteadof", "ex:"}, {"url.https://git.example/team/.insteadof", "ex:t/"},
		{"url.ssh://git@git.example/.pushinsteadof", "https://git.example/"}, {"user.name", "x"},
	}
	for _, c := range []struct {
		url  string
		push bool
		want string
	}{
		{"ex:a", false, "https://git.example/a"},
		{"ex:t/a", false, "https://git.example/team/a"},
		{"https://git.example/a", false, "https://git.example/a"},
		{"https://git.example/a", true, "ssh://git@git.example/a"},
		{"ex:a", true, "https://git.example/a"},
		{"git@host:a/b.git", false, "git@host:a/b.git"},
		{"ssh://u@host:2222/a", true, "ssh://u@host:2222/a"},
	} {
		if got, err := user.Resolve(c.url, c.push); err != nil || got != c.want {
			t.Errorf("%s: %q %v", c.url, got, err)
		}
	}
}

func TestBadURLs(t *testing.T) {
	for _, url := range []string{
		"", "/a/b", "./a", "../a", "a", "file:///a", "http://h/a", "git://h/a", "ext::sh -c x", "ext::x", "fd::3", "ssh://-oProxyCommand=x/a",
		"-oProxyCommand=x:a", "ssh://-l@h/a", "-u@h:a", "https://", "https:///a", "https://h\n/a", "https://h /a", "HTTPS://h/a", "https::h",
		"h:", "a/b:c", "ftp://h/a", "ssh://h%0a/a", "https://h`x`/a", "ssh+git://h/a", "https://hü/a",
	} {
		if err := checkURL(url); err == nil {
			t.Errorf("%q is accepted", url)
		}
	}
}

func TestHidden(t *testing.T) {
	for url, want := range map[string]string{
		"https://u:secret@h/a": "https://u@h/a", "https://h/a": "https://h/a", "ssh://u@h:1/a": "ssh://u@h:1/a", "u@h:a": "u@h:a",
		"https://u:secret@h": "https://u@h",
	} {
		if got := Hidden(url); got != want {
			t.Errorf("%s: %s", url, got)
		}
	}
}

func TestPlainRefspec(t *testing.T) {
	for spec, want := range map[string]bool{
		"+refs/heads/*:refs/remotes/o/*": true, "refs/heads/main:refs/remotes/o/main": true,
		"+refs/*:refs/*": false, "+refs/heads/*:refs/heads/*": false, "+refs/heads/*:refs/remotes/x/*": false, "refs/heads/": false, "": false,
		"+refs/heads/a:refs/remotes/o/b": false,
	} {
		if got := plainRefspec("o", spec); got != want {
			t.Errorf("%q: %v", spec, got)
		}
	}
}

func TestWhatGitSays(t *testing.T) {
	var out bytes.Buffer
	d := &dropper{to: &out}
	for _, part := range []string{"remote: Coun", "ting\rremote: done\nFrom https://x\n * [new branch]  a  -> b\n", "fatal: x"} {
		if _, err := d.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil || out.String() != "remote: Counting\rremote: done\nfatal: x" {
		t.Errorf("%q %v", out.String(), err)
	}
	out.Reset()
	r := &renamer{to: &out, old: "/private/git-1", new: "https://x/a"}
	for _, part := range strings.SplitAfter("From /private/git-1\n * a -> b\nend", "/") {
		if _, err := r.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil || out.String() != "From https://x/a\n * a -> b\nend" {
		t.Errorf("%q %v", out.String(), err)
	}
}

// What is written to the private configuration is read by git as it was.
func TestConfigLine(t *testing.T) {
	want := settings{
		{"http.https://x.example/\"q\\.sslcainfo", "/a b/c;d#e"}, {"credential.helper", "!f() { echo \"x\\n\"; }; f"},
		{"core.sshcommand", "ssh -i 'k' -o A=b\ttab"}, {"http.proxy", ""},
	}
	var text string
	for _, kv := range want {
		text += configLine(kv)
	}
	h := Host{Environ: []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent"}}
	if err := h.FindGit(); err != nil {
		t.Skip("git is not installed:", err)
	}
	got, err := h.parseConfig(t.Context(), []byte(text))
	if err != nil || len(got) != len(want) {
		t.Fatalf("%q %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q became %q", want[i], got[i])
		}
	}
}
