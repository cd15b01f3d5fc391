package netgit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ref is one of the project's.
type ref struct {
	name, id string
	current  bool // the branch that is checked out
}

// Run does the command: flags and refs are those of git's command line, which
// the caller has judged. Its error, where git itself failed, is an
// *exec.ExitError.
func (h Host) Run(ctx context.Context, j Job, flags, names []string) error {
	refs, err := h.refs(ctx, j)
	if err != nil {
		return err
	}
	if j.verb == "push" {
		return h.push(ctx, j, flags, names, refs)
	}
	return h.fetch(ctx, j, flags, names, refs)
}

// caged runs git in the cage, in the project. git may write its directory if
// write is set.
func (h Host) caged(ctx context.Context, j Job, write bool, stdout, stderr io.Writer, args ...string) error {
	var sbox []string
	if write {
		sbox = append(sbox, "--git")
	}
	cmd := exec.CommandContext(ctx, h.Sbox, append(append(sbox, "git"), args...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = j.dir, h.cleanEnv(), stdout, stderr
	return cmd.Run()
}

// refs asks the project's git, in the cage, for its refs.
func (h Host) refs(ctx context.Context, j Job) ([]ref, error) {
	var out, errs bytes.Buffer
	err := h.caged(ctx, j, false, &out, &errs, "for-each-ref", "--format=%(HEAD)%(objectname) %(refname)",
		"refs/heads", "refs/tags", "refs/remotes")
	if err != nil {
		return nil, fmt.Errorf("git for-each-ref: %w: %s", err, strings.TrimSpace(errs.String()))
	}
	var refs []ref
	for _, line := range strings.Split(out.String(), "\n") {
		if len(line) < 42 || line[41] != ' ' || !isID(line[1:41]) {
			continue
		}
		refs = append(refs, ref{name: line[42:], id: line[1:41], current: line[0] == '*'})
	}
	return refs, nil
}

// find returns the branch or tag that git means by a name.
func find(refs []ref, name string) (ref, error) {
	var found []ref
	for _, r := range refs {
		if name == "HEAD" && r.current || r.name == "refs/heads/"+name || r.name == "refs/tags/"+name {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return ref{}, fmt.Errorf("error: src refspec %s does not match any", name)
	}
	return ref{}, fmt.Errorf("error: src refspec %s matches more than one", name)
}

func (h Host) push(ctx context.Context, j Job, flags, names []string, refs []ref) error {
	var packed, specs []string
	var pushed []ref
	for _, name := range names {
		r, err := find(refs, name)
		if err != nil {
			return err
		}
		pushed = append(pushed, r)
		packed = append(packed, r.id+" "+r.name+"\n")
		specs = append(specs, r.name+":"+r.name)
	}
	slices.Sort(packed)
	p, err := h.newPrivate(j, slices.Compact(packed))
	if err != nil {
		return err
	}
	defer p.remove()
	upstream := slices.Contains(flags, "-u") || slices.Contains(flags, "--set-upstream")
	args := append([]string{"push", "--no-verify"}, slices.DeleteFunc(slices.Clone(flags), func(f string) bool {
		return f == "-u" || f == "--set-upstream"
	})...)
	if err := p.git(ctx, h.Stderr, append(append(args, "--", j.URL), specs...)...); err != nil {
		return err
	}
	if slices.Contains(flags, "-n") || slices.Contains(flags, "--dry-run") {
		return nil
	}
	for _, r := range pushed {
		branch, ok := strings.CutPrefix(r.name, "refs/heads/")
		if !ok {
			continue
		}
		if err := h.caged(ctx, j, true, h.Stdout, h.Stderr, "update-ref", "refs/remotes/"+j.remote+"/"+branch, r.id); err != nil {
			return err
		}
		if upstream {
			if err := h.caged(ctx, j, true, h.Stdout, h.Stderr, "branch", "--set-upstream-to="+j.remote+"/"+branch, branch); err != nil {
				return err
			}
		}
	}
	return nil
}

// forFetch are the flags of pull that its fetch takes too.
func forFetch(flags []string) []string {
	return slices.DeleteFunc(slices.Clone(flags), func(f string) bool {
		switch f {
		case "--ff-only", "--ff", "--no-ff", "-r", "--rebase", "--no-rebase", "--no-edit":
			return true
		}
		return false
	})
}

func (h Host) fetch(ctx context.Context, j Job, flags, names []string, refs []ref) error {
	// What the project has is told to the remote, so that it sends the rest.
	seen := map[string]bool{}
	var packed []string
	for _, r := range refs {
		if !seen[r.id] {
			seen[r.id] = true
			packed = append(packed, fmt.Sprintf("%s refs/have/%06d\n", r.id, len(packed)))
		}
	}
	p, err := h.newPrivate(j, packed)
	if err != nil {
		return err
	}
	defer p.remove()
	common := forFetch(flags)
	if err := p.fetch(ctx, j, common, names); err != nil {
		return err
	}
	if err := p.handOver(j); err != nil {
		return err
	}
	args := append([]string{"-c", "url." + p.dir + ".insteadOf=" + j.raw, "-c", "protocol.file.allow=always",
		"-c", "fetch.recurseSubmodules=false", "-c", "gc.auto=0", "fetch", "--no-progress"}, without(common, "--progress")...)
	named := &renamer{to: h.Stderr, old: p.dir, new: strings.TrimSuffix(strings.TrimRight(Hidden(j.URL), "/"), ".git")}
	err = h.caged(ctx, j, true, h.Stdout, named, append(append(args, j.remote), names...)...)
	if err := errors.Join(err, named.Close()); err != nil || j.verb == "fetch" {
		return err
	}
	return h.integrate(ctx, j, flags, names[0], refs)
}

func without(flags []string, f string) []string {
	return slices.DeleteFunc(slices.Clone(flags), func(g string) bool { return f == g })
}

// fetch asks the remote: for all branches, or those that are named.
func (p *private) fetch(ctx context.Context, j Job, flags, names []string) error {
	specs := names
	if len(names) == 0 {
		specs = []string{"+refs/heads/*:refs/heads/*"}
	}
	if j.config.last("remote."+j.remote+".tagopt") == "--tags" && len(names) == 0 {
		flags = append(slices.Clone(flags), "--tags")
	}
	args := append([]string{"fetch", "--no-auto-maintenance", "--no-recurse-submodules", "--force"}, without(without(flags, "-p"), "--prune")...)
	if isTerminal(p.host.Stderr) && !slices.Contains(flags, "-q") && !slices.Contains(flags, "--quiet") && !slices.Contains(flags, "--no-progress") {
		args = append(args, "--progress")
	}
	quiet := &dropper{to: p.host.Stderr}
	err := p.git(ctx, quiet, append(append(args, "--", j.URL), specs...)...)
	if err := errors.Join(err, quiet.Close()); err != nil || len(names) == 0 {
		return err
	}
	return p.name()
}

// name makes refs of what was fetched by name, as its kind says.
func (p *private) name() error {
	data, err := os.ReadFile(filepath.Join(p.dir, "FETCH_HEAD"))
	if err != nil {
		return err
	}
	for _, line := range strings.Split(string(data), "\n") {
		id, rest, _ := strings.Cut(line, "\t")
		_, what, _ := strings.Cut(rest, "\t")
		kind, what, _ := strings.Cut(what, " '")
		name, _, ok := strings.Cut(what, "' of ")
		folder := map[string]string{"branch": "refs/heads/", "tag": "refs/tags/"}[kind]
		if !ok || folder == "" || !isID(id) || !filepath.IsLocal(name) {
			continue
		}
		file := filepath.Join(p.dir, folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(id+"\n"), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// largePack is the size from which on a pack is handed over as a file, in
// bytes: unpacking it twice would take twice the time.
const largePack = 4 << 20

// handOver links large packs into the project's objects, so that git in the
// cage finds them there. They are data; the folder is opened first and has to
// lie in the zone.
func (p *private) handOver(j Job) error {
	packs, err := filepath.Glob(filepath.Join(p.dir, "objects/pack/pack-*.pack"))
	if err != nil {
		return err
	}
	for _, pack := range packs {
		st, err := os.Stat(pack)
		if err != nil || st.Size() < largePack {
			continue
		}
		root, err := os.OpenRoot(j.common)
		if err != nil {
			return err
		}
		defer root.Close()
		dir, err := root.Open("objects/pack")
		if err != nil {
			return err
		}
		defer dir.Close()
		if real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir.Fd())); err != nil || !p.host.Zone.Contains(real) {
			return nil //nolint:nilerr // git in the cage copies it then
		}
		stem := strings.TrimSuffix(pack, ".pack")
		// The index last: git reads a pack by it.
		for _, ext := range []string{".pack", ".rev", ".idx"} {
			err := unix.Linkat(unix.AT_FDCWD, stem+ext, int(dir.Fd()), filepath.Base(stem)+ext, 0)
			if errors.Is(err, unix.EEXIST) || ext == ".rev" && errors.Is(err, unix.ENOENT) {
				continue
			}
			if err != nil {
				return nil //nolint:nilerr // another file system: git in the cage copies it then
			}
		}
	}
	return nil
}

// integrate does what pull does after its fetch, in the cage.
func (h Host) integrate(ctx context.Context, j Job, flags []string, branch string, refs []ref) error {
	current := ""
	for _, r := range refs {
		if r.current {
			current = strings.TrimPrefix(r.name, "refs/heads/")
		}
	}
	both := append(append(settings(nil), j.user...), j.config...)
	rebase := both.last("pull.rebase")
	if v := both.last("branch." + current + ".rebase"); v != "" {
		rebase = v
	}
	how := []string{"--ff-only"}
	if rebase != "" {
		how = nil
	}
	switch ff := both.last("pull.ff"); {
	case ff == "only":
		how = []string{"--ff-only"}
	case ff != "" && truth(ff):
		how = []string{"--ff"}
	case ff != "":
		how = []string{"--no-ff"}
	}
	doRebase := truth(rebase)
	for _, f := range flags {
		switch f {
		case "-r", "--rebase":
			doRebase = true
		case "--no-rebase":
			doRebase, how = false, nil
		case "--ff", "--no-ff", "--ff-only":
			how, doRebase = []string{f}, false
		}
	}
	var quiet []string
	for _, f := range flags {
		if f == "-q" || f == "--quiet" {
			quiet = []string{"-q"}
		}
	}
	if doRebase {
		return h.caged(ctx, j, true, h.Stdout, h.Stderr, append(append([]string{"rebase"}, quiet...), "FETCH_HEAD")...)
	}
	message := fmt.Sprintf("Merge branch '%s' of %s", branch, strings.TrimSuffix(Hidden(j.URL), ".git"))
	if current != "" && current != "main" && current != "master" {
		message += " into " + current
	}
	args := append(append([]string{"merge"}, quiet...), how...)
	return h.caged(ctx, j, true, h.Stdout, h.Stderr, append(args, "--no-edit", "-m", message, "FETCH_HEAD")...)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

// dropper passes on what git says, but for the summary of refs, which belongs
// to the private directory.
type dropper struct {
	to   io.Writer
	line []byte
}

func (d *dropper) Write(p []byte) (int, error) {
	d.line = append(d.line, p...)
	for {
		i := bytes.IndexAny(d.line, "\r\n")
		if i < 0 {
			return len(p), nil
		}
		if err := d.pass(d.line[:i+1]); err != nil {
			return 0, err
		}
		d.line = d.line[i+1:]
	}
}

func (d *dropper) pass(line []byte) error {
	if bytes.HasPrefix(line, []byte("From ")) || bytes.HasPrefix(line, []byte(" ")) && bytes.Contains(line, []byte(" -> ")) {
		return nil
	}
	_, err := d.to.Write(line)
	return err
}

// Close passes on what does not end in a newline.
func (d *dropper) Close() error {
	if len(d.line) == 0 {
		return nil
	}
	return d.pass(d.line)
}

// renamer passes on lines with one text in place of another.
type renamer struct {
	to       io.Writer
	old, new string
	line     []byte
}

func (r *renamer) Write(p []byte) (int, error) {
	r.line = append(r.line, p...)
	i := bytes.LastIndexAny(r.line, "\r\n")
	if i < 0 {
		return len(p), nil
	}
	_, err := r.to.Write(bytes.ReplaceAll(r.line[:i+1], []byte(r.old), []byte(r.new)))
	r.line = append([]byte(nil), r.line[i+1:]...)
	return len(p), err
}

// Close passes on what does not end in a newline.
func (r *renamer) Close() error {
	_, err := r.to.Write(bytes.ReplaceAll(r.line, []byte(r.old), []byte(r.new)))
	return err
}
