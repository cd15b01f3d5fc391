package gate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-cage/agent-cage/gate/approvals"
	"github.com/agent-cage/agent-cage/gate/netgit"
	"github.com/agent-cage/agent-cage/policy"
	"github.com/agent-cage/agent-cage/zone"
)

// networkHost is what network git needs of the machine. sbox may be empty where
// nothing is run.
func (e Env) networkHost(z zone.Zone, sbox string) (netgit.Host, error) {
	state, err := e.stateDir(z)
	if err != nil {
		return netgit.Host{}, err
	}
	h := netgit.Host{
		// Not in the state directory, which the cage hides.
		Zone: z, Environ: e.Environ, Sbox: sbox, Private: filepath.Join(filepath.Dir(state), "agent-cage-git"),
		Stdout: e.Stdout, Stderr: e.Stderr,
	}
	err = h.FindGit()
	return h, err
}

// networkGit is the classifier's question about a remote.
func (e Env) networkGit(c Config, z zone.Zone) func(dir, remote, verb string) (bool, string) {
	return func(dir, remote, verb string) (bool, string) {
		ctx, cancel := context.WithTimeout(context.Background(), e.Deadline)
		defer cancel()
		h, err := e.networkHost(z, "")
		if err != nil {
			return false, "Git over the network is not possible: " + err.Error() + "."
		}
		j, err := h.Prepare(ctx, dir, remote, verb)
		if err != nil {
			return false, "Git over the network is for a human here: " + err.Error() + "."
		}
		if err := e.approved(c, z, j); err != nil {
			return false, err.Error() + "."
		}
		return true, ""
	}
}

// approved says why a job's URL is not one that a human approved for its
// project.
func (e Env) approved(c Config, z zone.Zone, j netgit.Job) error {
	l, err := e.store(c, z).Load()
	if err != nil {
		return err
	}
	var others []string
	for _, r := range l.Remotes {
		switch {
		case r.Project != j.Project:
		case r.URL == j.URL:
			return nil
		case r.Given == j.Configured():
			return fmt.Errorf("%s resolved to %s when a human approved it, and now to %s",
				netgit.Hidden(r.Given), netgit.Hidden(r.URL), netgit.Hidden(j.URL))
		default:
			others = append(others, netgit.Hidden(r.URL))
		}
	}
	known := ""
	if len(others) > 0 {
		known = " (approved is " + strings.Join(others, ", ") + ")"
	}
	return fmt.Errorf("no human has approved %s for this project yet%s; one can, in %s, by: cage-gate remotes add %s",
		netgit.Hidden(j.URL), known, j.Project, policy.Quote(netgit.Hidden(j.Configured())))
}

// gitCommand is git over the network, as the hook rewrites it.
func gitCommand(e Env, args []string) int {
	err := e.git(args)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	if err != nil {
		return e.fail(err)
	}
	return 0
}

func (e Env) git(args []string) error {
	conf, z, err := e.load()
	if err != nil {
		return err
	}
	words := []string{"git"}
	for _, a := range args {
		words = append(words, policy.Quote(a))
	}
	var dir, remote, verb string
	w := e.world(conf, z, e.Dir)
	w.NetworkGit = func(d, r, v string) (bool, string) {
		dir, remote, verb = d, r, v
		return true, ""
	}
	c := policy.New(w)
	if v := c.Classify(policy.Command(strings.Join(words, " "), e.Dir)); v.Class != policy.Green || v.Code != policy.CodeGitNetwork {
		return fmt.Errorf("usage: cage-gate git [-C DIR] fetch|pull|push REMOTE [REF…]: %s", v.Reason)
	}
	h, err := e.networkHost(z, c.Sbox())
	if err != nil {
		return err
	}
	ctx := e.Context
	if ctx == nil {
		ctx = context.Background()
	}
	j, err := h.Prepare(ctx, dir, remote, verb)
	if err != nil {
		return err
	}
	if err := e.approved(conf, z, j); err != nil {
		return err
	}
	var flags, names []string
	for _, a := range args[slices.Index(args, verb)+1:] {
		if a == "--" {
			continue
		}
		if strings.HasPrefix(a, "-") {
			flags = append(flags, a)
		} else {
			names = append(names, a)
		}
	}
	return h.Run(ctx, j, flags, names[1:])
}

const remotesUsage = "usage: cage-gate remotes add URL | remove URL | list [--json]"

// remotes lets a human approve where git may fetch from and push to without
// asking, for the project of the current directory.
func remotes(e Env, args []string) int {
	if err := e.remotes(args); err != nil {
		return e.fail(err)
	}
	return 0
}

func (e Env) remotes(args []string) error {
	conf, z, err := e.load()
	if err != nil {
		return err
	}
	project, err := projectOf(z, e.Dir)
	if err != nil {
		return err
	}
	store := e.store(conf, z)
	switch {
	case len(args) > 0 && args[0] == "list" && (len(args) == 1 || len(args) == 2 && args[1] == "--json"):
		return e.listRemotes(store, project, len(args) == 2)
	case len(args) != 2 || args[0] != "add" && args[0] != "remove":
		return errors.New(remotesUsage)
	}
	h, err := e.networkHost(z, "")
	if err != nil {
		return err
	}
	r := approvals.Remote{Project: project, Given: args[1], Added: e.Now().UTC().Round(time.Second)}
	if args[0] == "add" {
		ctx, cancel := context.WithTimeout(context.Background(), e.Deadline)
		defer cancel()
		if r.URL, err = h.ResolveURL(ctx, args[1]); err != nil {
			return err
		}
	}
	err = store.Change(func(l *approvals.List) error {
		before := len(l.Remotes)
		l.Remotes = slices.DeleteFunc(l.Remotes, func(old approvals.Remote) bool {
			return old.Project == project && (old.Given == r.Given || old.URL == r.Given)
		})
		if args[0] == "add" {
			l.Remotes = append(l.Remotes, r)
		} else if len(l.Remotes) == before {
			return fmt.Errorf("%s is not approved for %s", netgit.Hidden(r.Given), project)
		}
		return nil
	})
	if err != nil {
		return err
	}
	done := "removed"
	if args[0] == "add" {
		done = "approved " + describeRemote(r)
	}
	_, err = fmt.Fprintf(e.Stdout, "%s for %s\n", oneLine(done), project)
	return err
}

func (e Env) listRemotes(store approvals.Store, project string, asJSON bool) error {
	l, err := store.Load()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(e.Stdout)
	for _, r := range l.Remotes {
		if r.Project != project {
			continue
		}
		if asJSON {
			r.URL, r.Given = netgit.Hidden(r.URL), netgit.Hidden(r.Given)
			err = errors.Join(err, json.NewEncoder(out).Encode(r))
		} else {
			fmt.Fprintln(out, oneLine(describeRemote(r)))
		}
	}
	return errors.Join(err, out.Flush())
}

func describeRemote(r approvals.Remote) string {
	if r.Given == r.URL {
		return netgit.Hidden(r.URL)
	}
	return netgit.Hidden(r.Given) + ", which is " + netgit.Hidden(r.URL)
}
