package netgit

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// private is the git directory that talks to the remote.
type private struct {
	host Host
	dir  string
}

// fixed is its configuration beside what comes from the user's.
const fixed = `[core]
	repositoryformatversion = 0
	bare = true
	hooksPath = /dev/null
	alternateRefsCommand = true
	commitGraph = false
	multiPackIndex = false
	fsmonitor = false
[protocol]
	allow = never
[protocol "https"]
	allow = always
[protocol "ssh"]
	allow = always
[http]
	followRedirects = false
[transfer]
	bundleURI = false
[fetch]
	recurseSubmodules = false
	writeCommitGraph = false
	unpackLimit = 1
[push]
	gpgSign = false
	recurseSubmodules = no
[submodule]
	recurse = false
[gc]
	auto = 0
[maintenance]
	auto = false
`

// fromUser reports whether a key of the user's configuration is how to reach
// and log in to a remote.
func fromUser(key string) bool {
	return strings.HasPrefix(key, "credential.") || strings.HasPrefix(key, "http.") ||
		key == "core.sshcommand" || key == "ssh.variant" || key == "core.askpass" || key == "protocol.version"
}

// newPrivate makes a git directory with its own configuration, the project's
// objects and the given refs.
func (h Host) newPrivate(j Job, refs []string) (*private, error) {
	if err := os.MkdirAll(h.Private, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(h.Private, "git-")
	if err != nil {
		return nil, err
	}
	p := &private{h, dir}
	shallow, err := readShallow(j.common)
	if err == nil {
		err = p.fill(j, refs, shallow)
	}
	if err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

func (p *private) fill(j Job, refs []string, shallow string) error {
	var config strings.Builder
	for _, kv := range j.user {
		if fromUser(kv.key) {
			config.WriteString(configLine(kv))
		}
	}
	config.WriteString(fixed)
	files := map[string]string{
		"HEAD": "ref: refs/heads/none\n", "config": config.String(),
		"objects/info/alternates": filepath.Join(j.common, "objects") + "\n",
		"packed-refs":             strings.Join(refs, ""), "refs/heads/.keep": "",
	}
	if shallow != "" {
		files["shallow"] = shallow
	}
	for name, text := range files {
		name = filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	if strings.ContainsAny(j.common, "\n\"") {
		return errors.New("the path of the git directory has an odd character")
	}
	return os.Remove(filepath.Join(p.dir, "refs/heads/.keep"))
}

// configLine writes one value so that git reads exactly it.
func configLine(kv setting) string {
	first, last := strings.IndexByte(kv.key, '.'), strings.LastIndexByte(kv.key, '.')
	section := kv.key[:first]
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	if last > first {
		section += ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(kv.key[first+1:last]) + `"`
	}
	return "[" + section + "]\n\t" + kv.key[last+1:] + ` = "` + quote.Replace(kv.value) + "\"\n"
}

// readShallow returns where a shallow clone ends.
func readShallow(common string) (string, error) {
	data, err := readControl(filepath.Join(common, "shallow"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if !isID(line) {
			return "", errors.New("its shallow file is broken")
		}
	}
	return string(data), nil
}

func isID(s string) bool {
	return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == ""
}

func (p *private) remove() { _ = os.RemoveAll(p.dir) }

// git runs git in the private directory, where nothing of the project's is
// read but objects.
func (p *private) git(ctx context.Context, stderr io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, p.host.Git, args...)
	cmd.Dir = p.dir
	cmd.Env = append(p.host.cleanEnv(),
		"GIT_DIR="+p.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_PROTOCOL_FROM_USER=0")
	cmd.Stdout, cmd.Stderr = p.host.Stdout, stderr
	return cmd.Run()
}
