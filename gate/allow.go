package gate

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-cage/agent-cage/gate/approvals"
	"github.com/agent-cage/agent-cage/policy"
	"github.com/agent-cage/agent-cage/zone"
)

// allowedFor is how long a command stays allowed unless it is said.
const allowedFor = 30 * 24 * time.Hour

const allowUsage = `Usage: cage-gate allow [--all | --project DIR] [--for 8h|30d|ever] PROGRAM [ARG…]
       cage-gate revoke [--all | --project DIR] PROGRAM [ARG…]
       cage-gate allowed [--json]

Commands that begin with exactly these arguments run uncaged without asking:
in the current project, for 30 days, unless it is said otherwise.
`

// store is where approvals lie: beside the settings that count.
func (e Env) store(c Config, z zone.Zone) approvals.Store {
	return approvals.Store{Dir: c.dir, UID: c.owner, Zone: z}
}

// remembered is the classifier's question about plain commands.
func (e Env) remembered(c Config, z zone.Zone) func(dir string, args []string) (bool, string) {
	return func(dir string, args []string) (bool, string) {
		l, err := e.store(c, z).Load()
		if err != nil {
			return false, err.Error()
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return false, ""
		}
		now := e.Now()
		return slices.ContainsFunc(l.Commands, func(c approvals.Command) bool { return c.Covers(real, args, now) }), ""
	}
}

// projectOf returns the project that dir belongs to: the nearest directory
// above it with a .git below the zone's root, else dir itself.
func projectOf(z zone.Zone, dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(real) {
		return "", fmt.Errorf("%s is not absolute", dir)
	}
	root, inside := z.RootOf(real)
	for d := real; inside && d != filepath.Dir(root.Path) && (d != root.Path || root.Source == zone.SourceBox); d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return d, nil
		}
	}
	return real, nil
}

// allowOptions is a parsed command line of allow or revoke.
type allowOptions struct {
	all     bool
	project string
	period  time.Duration // 0 means forever
	args    []string
}

func parseAllow(args []string) (allowOptions, error) {
	var o allowOptions
	f := flag.NewFlagSet("allow", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.BoolVar(&o.all, "all", false, "")
	f.StringVar(&o.project, "project", "", "")
	period := f.String("for", "", "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.args = f.Args()
	switch {
	case len(o.args) == 0:
		return o, errors.New("which command? cage-gate allow --help")
	case o.all && o.project != "":
		return o, errors.New("--all and --project exclude each other")
	}
	switch *period {
	case "":
		o.period = allowedFor
	case "ever":
	default:
		d, err := parseDuration(*period)
		if err != nil {
			return o, fmt.Errorf("--for: %q is not a duration like 8h or 30d, nor ever", *period)
		}
		o.period = d
	}
	return o, nil
}

// scope returns the project that the options mean, empty for all.
func (e Env) scope(o allowOptions, z zone.Zone) (string, error) {
	if o.all {
		return "", nil
	}
	dir := e.Dir
	if o.project != "" {
		if dir = o.project; !filepath.IsAbs(dir) {
			dir = filepath.Join(e.Dir, dir)
		}
	}
	return projectOf(z, dir)
}

func allowCommand(e Env, verb string, args []string) int {
	err := e.allow(verb, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(e.Stdout, allowUsage)
		return 0
	}
	if err != nil {
		return e.fail(err)
	}
	return 0
}

func (e Env) allow(verb string, args []string) error {
	o, err := parseAllow(args)
	if err != nil {
		return err
	}
	conf, z, err := e.load()
	if err != nil {
		return err
	}
	project, err := e.scope(o, z)
	if err != nil {
		return err
	}
	if verb == "revoke" {
		return e.revoke(e.store(conf, z), o, project)
	}
	if err := e.allowable(conf, z, o.args); err != nil {
		return err
	}
	c := approvals.Command{Args: o.args, Project: project, Added: e.Now().UTC().Round(time.Second)}
	if o.period > 0 {
		c.Expires = c.Added.Add(o.period)
	}
	err = e.store(conf, z).Change(func(l *approvals.List) error {
		l.Commands = slices.DeleteFunc(l.Commands, func(old approvals.Command) bool {
			return slices.Equal(old.Args, c.Args) && old.Project == c.Project
		})
		l.Commands = append(l.Commands, c)
		return nil
	})
	if err == nil {
		_, err = fmt.Fprintln(e.Stdout, describeCommand(c, e.Now()))
	}
	return err
}

// allowable refuses what cannot be remembered.
func (e Env) allowable(conf Config, z zone.Zone, args []string) error {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = policy.Quote(a)
	}
	w := e.world(conf, z, e.Dir)
	w.Remembered = func(string, []string) (bool, string) { return true, "" }
	c := policy.New(w)
	command := strings.Join(words, " ")
	base, err := c.BaseTokens(command)
	if err != nil {
		return err
	}
	if len(args) < len(base) {
		return fmt.Errorf("%w: name at least %s", policy.ErrNoBase, strings.Join(base, " "))
	}
	// The classifier has the last word, as if it were remembered.
	if v := c.Classify(policy.Command(command, e.Dir)); v.Code != policy.CodeRemembered {
		return fmt.Errorf("%w: %s", policy.ErrNoBase, v.Reason)
	}
	return nil
}

func (e Env) revoke(s approvals.Store, o allowOptions, project string) error {
	n := 0
	err := s.Change(func(l *approvals.List) error {
		before := len(l.Commands)
		l.Commands = slices.DeleteFunc(l.Commands, func(c approvals.Command) bool {
			return slices.Equal(c.Args, o.args) && c.Project == project
		})
		if n = before - len(l.Commands); n == 0 {
			return errors.New("no such command is allowed in that scope; cage-gate allowed lists them")
		}
		return nil
	})
	if err == nil {
		_, err = fmt.Fprintln(e.Stdout, "revoked")
	}
	return err
}

func allowed(e Env, args []string) int {
	asJSON := len(args) == 1 && args[0] == "--json"
	if len(args) > 0 && !asJSON {
		return e.fail(errors.New("usage: cage-gate allowed [--json]"))
	}
	conf, z, err := e.load()
	if err != nil {
		return e.fail(err)
	}
	l, err := e.store(conf, z).Load()
	if err != nil {
		return e.fail(err)
	}
	out := bufio.NewWriter(e.Stdout)
	for _, c := range l.Commands {
		if asJSON {
			err = errors.Join(err, json.NewEncoder(out).Encode(c))
		} else {
			fmt.Fprintln(out, describeCommand(c, e.Now()))
		}
	}
	if err := errors.Join(err, out.Flush()); err != nil {
		return e.fail(err)
	}
	return 0
}

func describeCommand(c approvals.Command, now time.Time) string {
	where, until := "everywhere", "for ever"
	if c.Project != "" {
		where = "in " + c.Project
	}
	if !c.Expires.IsZero() {
		until = "until " + c.Expires.Local().Format(time.DateTime)
		if !now.Before(c.Expires) {
			until = "expired " + c.Expires.Local().Format(time.DateTime)
		}
	}
	words := make([]string, len(c.Args))
	for i, a := range c.Args {
		words[i] = policy.Quote(a)
	}
	return oneLine(strings.Join(words, " ")+" …") + "  " + where + ", " + until
}
