//go:build linux

package sandbox

import (
	"slices"
	"testing"
)

func TestScrub(t *testing.T) {
	tests := []struct {
		kv   string
		kept bool
	}{
		{"PATH=/usr/bin", true}, {"HOME=/home/u", true}, {"LANG=C", true}, {"PWD=/tmp", true}, {"OLDPWD=/", true},
		{"KEYMAP=us", true}, {"TERM=xterm", true}, {"EMPTY=", true}, {"GOPATH=/go", true}, {"MONKEY=1", true},
		{"PYTHONPATH=/x", true}, {"COMPASS=n", true}, {"URL=https://example.org/a@b", true},
		{"GITHUB_TOKEN=x", false}, {"gh_token=x", false}, {"OPENAI_API_KEY=x", false}, {"MYAPIKEY=x", false},
		{"DB_PASSWORD=x", false}, {"PGPASSWORD=x", false}, {"MYSQL_PWD=x", false}, {"SESSION-COOKIE=x", false},
		{"AWS_PROFILE=x", false}, {"aws_profile=x", false}, {"VAULT_ADDR=x", false}, {"NETRC=/x", false},
		{"SSH_AUTH_SOCK=/tmp/a", false}, {"DBUS_SESSION_BUS_ADDRESS=x", false}, {"XAUTHORITY=/x", false},
		{"DOCKER_HOST=unix:///x", false}, {"TMUX=/tmp/t", false}, {"DISPLAY=:0", false}, {"XDG_RUNTIME_DIR=/run/user/1", false},
		{"LD_PRELOAD=/x.so", false}, {"LD_LIBRARY_PATH=/x", false}, {"BASH_ENV=/x", false}, {"ENV=/x", false},
		{"BASH_FUNC_ls%%=() { :; }", false}, {"PROMPT_COMMAND=x", false}, {"GIT_SSH_COMMAND=x", false},
		{"INDEX=https://u:p@example.org/simple", false}, {"TWO=http://a http://u@b/", false},
		{"novalue", false}, {"=x", false},
	}
	for _, tt := range tests {
		t.Run(tt.kv, func(t *testing.T) {
			kept, dropped := scrub([]string{tt.kv}, nil)
			if got := slices.Contains(kept, tt.kv); got != tt.kept || got == (len(dropped) > 0) {
				t.Errorf("kept %q, dropped %v; want kept: %v", kept, dropped, tt.kept)
			}
		})
	}
}

func TestScrubKeepsWhatIsAskedFor(t *testing.T) {
	kept, dropped := scrub([]string{"A_TOKEN=1", "B_TOKEN=2", "B_TOKEN=3"}, []string{"A_TOKEN"})
	if !slices.Equal(kept, []string{"A_TOKEN=1"}) {
		t.Errorf("kept %q", kept)
	}
	if len(dropped) != 1 || dropped[0].Name != "B_TOKEN" || dropped[0].Reason == "" {
		t.Errorf("dropped %v, want B_TOKEN once, with a reason", dropped)
	}
}
