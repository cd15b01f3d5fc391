package netgit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Job is a command over the network whose remote was read and judged.
type Job struct {
	URL     string // where it goes
	Project string // the top of the working tree; real

	verb, remote string
	raw          string // the URL as the project's configuration has it
	user         settings
	project
}

// Prepare reads what the command needs, and refuses what it cannot do the way
// git would. Approval is for the caller to ask, of the job's URL.
func (h Host) Prepare(ctx context.Context, dir, remote, verb string) (Job, error) {
	p, err := h.readProject(ctx, dir)
	if err != nil {
		return Job{}, err
	}
	j := Job{Project: p.top, verb: verb, remote: remote, project: p}
	if j.user, err = h.userConfig(ctx); err != nil {
		return Job{}, err
	}
	if err := h.unfit(j); err != nil {
		return Job{}, err
	}
	urls := p.config.all("remote." + remote + ".url")
	push := p.config.all("remote." + remote + ".pushurl")
	explicit := verb == "push" && len(push) > 0
	if explicit {
		urls = push
	}
	switch len(urls) {
	case 0:
		return Job{}, fmt.Errorf("the project has no remote %s", remote)
	case 1:
	default:
		return Job{}, fmt.Errorf("the remote %s has several URLs", remote)
	}
	j.raw = urls[0]
	j.URL, err = j.user.Resolve(j.raw, verb == "push" && !explicit)
	return j, err
}

// ResolveURL resolves a URL through the user's configuration.
func (h Host) ResolveURL(ctx context.Context, url string) (string, error) {
	user, err := h.userConfig(ctx)
	if err != nil {
		return "", err
	}
	return user.Resolve(url, false)
}

// Resolve applies the longest insteadOf, or for a push pushInsteadOf, and
// refuses what is not https or ssh then.
func (s settings) Resolve(url string, push bool) (string, error) {
	out, ok := url, false
	if push {
		out, ok = s.instead(url, ".pushinsteadof")
	}
	if !ok {
		out, _ = s.instead(url, ".insteadof")
	}
	return out, checkURL(out)
}

func (s settings) instead(url, suffix string) (string, bool) {
	best, out := -1, url
	for _, kv := range s {
		base, ok := strings.CutPrefix(kv.key, "url.")
		if !ok {
			continue
		}
		if base, ok = strings.CutSuffix(base, suffix); ok && strings.HasPrefix(url, kv.value) && len(kv.value) > best {
			best, out = len(kv.value), base+url[len(kv.value):]
		}
	}
	return out, best >= 0
}

// checkURL accepts https://HOST/…, ssh://[USER@]HOST[:PORT]/… and
// [USER@]HOST:PATH.
func checkURL(url string) error {
	for i := 0; i < len(url); i++ {
		if url[i] <= 0x20 || url[i] >= 0x7f {
			return errors.New("the URL has a blank or another odd character")
		}
	}
	var authority string
	switch scheme, rest, ok := strings.Cut(url, "://"); {
	case ok && (scheme == "https" || scheme == "ssh"):
		authority, _, _ = strings.Cut(rest, "/")
	case ok:
		return fmt.Errorf("the URL %s is neither https nor ssh", Hidden(url))
	default:
		host, path, ok := strings.Cut(url, ":")
		if !ok || strings.Contains(host, "/") || strings.HasPrefix(path, ":") || path == "" {
			return fmt.Errorf("%s is neither an https nor an ssh URL", Hidden(url))
		}
		authority = host
	}
	user, host := "", authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, host = authority[:i], authority[i+1:]
	}
	if host == "" || host[0] == '-' || strings.HasPrefix(user, "-") || strings.ContainsAny(host, "%\\'\"`$") {
		return fmt.Errorf("the URL %s has no plain host", Hidden(url))
	}
	return nil
}

// Hidden is a URL without a password.
func Hidden(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	authority, path, slash := strings.Cut(rest, "/")
	if user, host, at := strings.Cut(authority, "@"); at {
		if name, _, secret := strings.Cut(user, ":"); secret {
			authority = name + "@" + host
		}
	}
	if slash {
		path = "/" + path
	}
	return scheme + "://" + authority + path
}

// Configured is the URL as the project's configuration has it.
func (j Job) Configured() string { return j.raw }

// unfit says what of the project git would do that is not done here.
func (h Host) unfit(j Job) error {
	remote := "remote." + j.remote + "."
	for _, kv := range j.config {
		key, set := kv.key, truth(kv.value)
		switch {
		case key == "extensions.partialclone", strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".promisor") && set,
			strings.HasSuffix(key, ".partialclonefilter"):
			return fmt.Errorf("it is a partial clone (%s)", key)
		case key == "extensions.objectformat" && kv.value != "sha1":
			return fmt.Errorf("its object format is %s", kv.value)
		case strings.HasPrefix(key, "filter.lfs."), strings.HasPrefix(key, "lfs."), strings.HasSuffix(key, ".lfsurl"):
			return fmt.Errorf("it uses LFS (%s)", key)
		case key == remote+"vcs", key == remote+"uploadpack", key == remote+"receivepack", key == remote+"proxy",
			key == remote+"mirror" && set:
			return fmt.Errorf("the project sets %s", key)
		case key == remote+"fetch" && !plainRefspec(j.remote, kv.value):
			return fmt.Errorf("%s is %s, not the usual refspec", key, kv.value)
		case j.verb == "push" && key == "core.hookspath":
			return errors.New("the project has hooks of its own (core.hooksPath)")
		}
	}
	if err := h.borrowed(j.common); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(j.common, "lfs")); err == nil {
		return errors.New("it uses LFS")
	}
	if data, err := readControl(filepath.Join(j.top, ".gitattributes")); err == nil && strings.Contains(string(data), "filter=lfs") {
		return errors.New("it uses LFS (.gitattributes)")
	}
	if j.verb != "push" {
		return nil
	}
	both := append(append(settings(nil), j.user...), j.config...)
	if truth(both.last("push.gpgsign")) {
		return errors.New("it signs pushes (push.gpgSign)")
	}
	hooks := []string{filepath.Join(j.common, "hooks")}
	if dir := j.user.last("core.hookspath"); filepath.IsAbs(dir) {
		hooks = append(hooks, dir)
	}
	for _, dir := range hooks {
		if _, err := os.Lstat(filepath.Join(dir, "pre-push")); err == nil {
			return errors.New("it has a pre-push hook")
		}
	}
	return nil
}

// plainRefspec reports whether a refspec is what git clone writes, or a single
// branch of that.
func plainRefspec(remote, spec string) bool {
	src, dst, ok := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
	branch, heads := strings.CutPrefix(src, "refs/heads/")
	return ok && heads && branch != "" && dst == "refs/remotes/"+remote+"/"+branch
}

// borrowed refuses objects that are borrowed from outside the zone.
func (h Host) borrowed(common string) error {
	data, err := readControl(filepath.Join(common, "objects/info/alternates"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, line := range strings.Split(string(data), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if _, err := h.inZone(resolve(filepath.Join(common, "objects"), line)); err != nil {
			return fmt.Errorf("it borrows objects: %w", err)
		}
	}
	return nil
}
