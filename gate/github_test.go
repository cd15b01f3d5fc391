package gate

import (
	"os"
	"strings"
	"testing"
)

func TestGitHubSettings(t *testing.T) {
	h := newHost(t)
	for text, want := range map[string][2]string{
		"":                                     {"https://api.github.com/", "https://api.github.com/graphql"},
		"url = 'https://github.com'":           {"https://api.github.com/", "https://api.github.com/graphql"},
		"url = 'https://api.acme.ghe.com/'":    {"https://api.acme.ghe.com/", "https://api.acme.ghe.com/graphql"},
		"url = 'https://GH.acme.test:8443'":    {"https://gh.acme.test:8443/api/v3/", "https://gh.acme.test:8443/api/graphql"},
		"url = 'https://gh.acme.test/api/v3/'": {"https://gh.acme.test/api/v3/", "https://gh.acme.test/api/graphql"},
		"url = 'http://127.0.0.1:8080'\nplain-loopback = true":         {"http://127.0.0.1:8080/api/v3/", "http://127.0.0.1:8080/api/graphql"},
		"url = 'http://[::1]:8080'\nplain-loopback = true":             {"http://[::1]:8080/api/v3/", "http://[::1]:8080/api/graphql"},
		"repositories = ['acme/app', 'acme/site.github.io', 'a-b/_x']": {"https://api.github.com/", "https://api.github.com/graphql"},
	} {
		h.config("[github]\n" + text)
		c, _, err := LoadConfig(h.home, h.etc, os.Geteuid())
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := [2]string{c.GitHub.API.String(), c.GitHub.GraphQL.String()}; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"url = 'http://gh.acme.test'":                               "is not https",
		"url = 'http://127.0.0.1'":                                  "is not https",
		"url = 'http://gh.acme.test'\nplain-loopback = true":        "is not https",
		"url = 'http://localhost'\nplain-loopback = true":           "is not https",
		"url = 'http://127.0.0.1.acme.test'\nplain-loopback = true": "is not https",
		"url = 'ftp://gh.acme.test'":                                "is not https",
		"url = 'gh.acme.test'":                                      "not of the form",
		"url = 'https://gh.acme.test/x'":                            "not of the form",
		"url = 'https://gh.acme.test?x=1'":                          "not of the form",
		"url = 'https://gh.acme.test#x'":                            "not of the form",
		"url = 'https:gh.acme.test'":                                "not of the form",
		"url = 'https://user:pass@gh.acme.test'":                    "it holds a login",
		"url = 'https://user:pass@gh.acme.test:x'":                  "not a URL",
		"repositories = ['acme']":                                   "not OWNER/NAME",
		"repositories = ['acme/*']":                                 "not OWNER/NAME",
		"repositories = ['acme/..']":                                "not OWNER/NAME",
		"repositories = ['../app']":                                 "not OWNER/NAME",
		"repositories = ['acme/app/x']":                             "not OWNER/NAME",
		"repositories = ['https://github.com/acme/app']":            "not OWNER/NAME",
		"repository = ['acme/app']":                                 "unknown key",
		"plain-loopback = 'yes'":                                    "line 2",
	} {
		h.config("[github]\n" + text)
		_, _, err := LoadConfig(h.home, h.etc, os.Geteuid())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pass") {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		}
	}
}

// A helper of the settings is green by its absolute path, and by that alone;
// one that others could change is not.
func TestAHelperIsGreenByItsPath(t *testing.T) {
	h := newHost(t)
	helper := h.home + "/work/gh-issue"
	other := h.home + "/work/gh-other"
	h.write(helper, "#!/bin/false\n", 0o755)
	h.write(other, "#!/bin/false\n", 0o755)
	classify := func(command string) string {
		t.Helper()
		status, out, errs := h.run("", "classify", command)
		if status != 0 {
			t.Fatalf("%q: status %d: %s", command, status, errs)
		}
		class, rest, _ := strings.Cut(out, "\t")
		code, _, _ := strings.Cut(rest, "\t")
		return class + " " + code
	}
	line := helper + " create --title 'It is broken' --body-file body.md"
	if got := classify(line); got != "gated plain-command" {
		t.Errorf("not in the settings: %s", got)
	}
	h.config("helpers = ['~/work/gh-issue']\n[github]\nrepositories = ['acme/app']\n")
	for command, want := range map[string]string{
		line:                                    "green helper",
		helper + " view 1 --json":               "green helper",
		helper + " view $N":                     "gated expansion",
		helper + " view *":                      "gated glob",
		helper + " list; touch x":               "gated",
		"gh-issue list":                         "gated plain-command",
		"~/work/gh-issue list":                  "gated",
		other + " list":                         "gated plain-command",
		"GH_ISSUE_REPO=a/b " + helper + " list": "gated",
	} {
		if got := classify(command); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", command, got, want)
		}
	}
	for what, spoil := range map[string]func() error{
		"writable by the group":  func() error { return os.Chmod(helper, 0o775) },
		"writable by others":     func() error { return os.Chmod(helper, 0o757) },
		"in a directory for all": func() error { return os.Chmod(h.home+"/work", 0o777) },
		"missing":                func() error { return os.Remove(helper) },
		"a symlink into the zone": func() error {
			h.write(h.project+"/gh-issue", "#!/bin/false\n", 0o755)
			if err := os.Remove(helper); err != nil {
				return err
			}
			return os.Symlink(h.project+"/gh-issue", helper)
		},
	} {
		if err := os.RemoveAll(h.home + "/work"); err != nil {
			t.Fatal(err)
		}
		h.write(helper, "#!/bin/false\n", 0o755)
		if got := classify(line); got != "green helper" {
			t.Fatalf("before %s: %s", what, got)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if got := classify(line); got != "gated helper-unsafe" {
			t.Errorf("%s: %s", what, got)
		}
	}
}
