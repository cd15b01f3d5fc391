package ghissue

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-github/v84/github"

	"github.com/agent-cage/agent-cage/gate"
	"github.com/agent-cage/agent-cage/internal/version"
	"github.com/agent-cage/agent-cage/zone"
	"github.com/agent-cage/agent-cage/zone/zonefile"
)

// tokenName is the token's file in the directory of the settings.
const tokenName = "github-token"

// session is a client for one repository.
type session struct {
	gh      *github.Client
	repo    gate.Repository
	graphql string
	body    string // of --body-file
}

// open reads what a command needs before anything goes over the network. The
// flags may be "".
func (e Env) open(repo, bodyFile string) (*session, error) {
	if repo == "" {
		repo = e.getenv("GH_ISSUE_REPO")
	}
	if repo == "" {
		return nil, usagef("which repository? Set GH_ISSUE_REPO, or say --repo OWNER/NAME")
	}
	wanted, err := gate.ParseRepository(repo)
	if err != nil {
		return nil, usageError{err}
	}
	home, err := e.homeDir()
	if err != nil {
		return nil, err
	}
	conf, z, err := gate.LoadConfig(home, e.System, e.UID)
	if err != nil {
		return nil, err
	}
	known := slices.IndexFunc(conf.GitHub.Repositories, wanted.Same)
	if known < 0 {
		return nil, fmt.Errorf("%s is not among the repositories under [github] in gate.toml; a human may add it", wanted)
	}
	s := &session{repo: conf.GitHub.Repositories[known], graphql: conf.GitHub.GraphQL.String()}
	if bodyFile != "" {
		if s.body, err = readBody(z, e.Dir, bodyFile); err != nil {
			return nil, err
		}
	}
	token, err := readToken(z, e.UID)
	if err != nil {
		return nil, err
	}
	client, err := e.httpClient(border{conf.GitHub.API, conf.GitHub.GraphQL, s.repo}, z, token)
	if err != nil {
		return nil, err
	}
	s.gh = github.NewClient(client)
	s.gh.BaseURL = conf.GitHub.API
	s.gh.UserAgent = "agent-cage-gh-issue/" + strings.Fields(version.String())[0]
	return s, nil
}

func readToken(z zone.Zone, uid int) (string, error) {
	name := filepath.Join(z.ConfigDir(), tokenName)
	data, err := zonefile.ReadPrivate(name, uid)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("no token: a human has to write one to %s, mode 0600", name)
	}
	if err == nil {
		err = zonefile.Outside(z, name)
	}
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	// What is wrong is said without quoting it.
	if token == "" || len(token) > 1024 || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s: not one line with a token", name)
	}
	return token, nil
}
