package ghissue

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

const about = `gh-issue: issues and pull requests of the repositories that a human named.

The repository is GH_ISSUE_REPO or --repo, one of those under [github] in
~/.config/agent-cage/gate.toml; the token is in github-token beside it. Bodies
come from files in the zone. It does not merge: that is for a human.

Exit status: 0 done, 1 refused or failed, 2 wrong usage.`

// options are the flags that all commands have.
type options struct {
	repo string
	json bool
}

// action is a command's work after its line was found to be right.
type action func(ctx context.Context, s *session, out printer) error

// commands returns the program's command line.
func commands(e Env) *cobra.Command {
	var o options
	root := &cobra.Command{
		Use: "gh-issue COMMAND", Long: about, SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q; see gh-issue --help", args[0])
			}
			return usagef("no command; see gh-issue --help")
		},
	}
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentFlags().StringVar(&o.repo, "repo", "", "the repository, `OWNER/NAME` (default: GH_ISSUE_REPO)")
	root.PersistentFlags().BoolVar(&o.json, "json", false, "print JSON")
	r := &runner{Env: e, options: &o}
	root.AddCommand(
		r.list(), r.view(), r.create(), r.comment(), r.closing(), r.reopen(), r.label(),
		r.pullCreate(), r.pullList(), r.pullView(), r.pullDiff(), r.linkBranch(),
	)
	return root
}

// runner makes commands of actions.
type runner struct {
	Env
	*options
}

// do opens a session and acts. bodyFile may be "".
func (r *runner) do(ctx context.Context, bodyFile string, act action) error {
	s, err := r.open(r.repo, bodyFile)
	if err != nil {
		return err
	}
	return act(ctx, s, printer{out: r.Stdout, json: r.json, terminal: r.Terminal})
}

// command is one without operands; its check finds fault with its flags.
func (r *runner) command(use, short string, check func() error, body *string, act action) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%s takes no operand, and %q is one", cmd.Name(), args[0])
			}
			if err := check(); err != nil {
				return err
			}
			return r.do(cmd.Context(), *body, act)
		}}
}

// numbered is a command about one issue or pull request.
func (r *runner) numbered(use, short string, check func() error, body *string,
	act func(ctx context.Context, s *session, number int, out printer) error) *cobra.Command {
	return &cobra.Command{Use: use + " NUMBER", Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s takes one number", cmd.Name())
			}
			number, err := strconv.ParseInt(args[0], 10, 32)
			if err != nil || number < 1 {
				return usagef("%q is not the number of an issue or pull request", args[0])
			}
			if err := check(); err != nil {
				return err
			}
			return r.do(cmd.Context(), *body, func(ctx context.Context, s *session, out printer) error {
				return act(ctx, s, int(number), out)
			})
		}}
}

func noCheck() error { return nil }

// oneOf checks a flag's value.
func oneOf(flag, value string, allowed ...string) error {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return usagef("%s: %q is not %s", flag, value, strings.Join(allowed, ", "))
}

// words checks what becomes a title or a name: one line of text.
func words(flag string, values ...string) error {
	for _, v := range values {
		if strings.TrimSpace(v) == "" || !utf8.ValidString(v) || text(v) != v || strings.ContainsAny(v, "\n\t") {
			return usagef("%s: %q is not one line of plain text", flag, v)
		}
	}
	return nil
}

// labels checks names of labels. Dots between slashes would lead a URL
// elsewhere, and a comma parts names in a filter.
func labels(flag string, values ...string) error {
	for _, v := range values {
		bad := strings.Contains(v, ",")
		for _, part := range strings.Split(v, "/") {
			bad = bad || part == "." || part == ".."
		}
		if bad {
			return usagef("%s: %q is not the name of a label", flag, v)
		}
	}
	return words(flag, values...)
}

// branch checks the name of a branch as git does.
func branch(flag, name string) error {
	bad := name == "" || len(name) > 240 || name == "@" || strings.ContainsAny(name, " ~^:?*[\\\x7f") ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasPrefix(name, "-") ||
		strings.HasSuffix(name, ".") || text(name) != name || !utf8.ValidString(name)
	for _, part := range strings.Split(name, "/") {
		bad = bad || part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock")
	}
	if bad || strings.ContainsAny(name, "\n\t") {
		return usagef("%s: %q is not the name of a branch", flag, name)
	}
	return nil
}

// limit checks how many are asked for.
func limit(n int) error {
	if n < 1 || n > 1000 {
		return usagef("--limit: %d is not between 1 and 1000", n)
	}
	return nil
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
