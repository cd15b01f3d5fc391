package ghissue

import (
	"context"
	"strings"

	"github.com/google/go-github/v84/github"
	"github.com/spf13/cobra"
)

func (r *runner) pullCreate() *cobra.Command {
	var title, head, base, body string
	var draft bool
	cmd := r.command("pr-create", "open a pull request",
		func() error {
			err := first(words("--title", title), branch("--head", head[strings.IndexByte(head, ':')+1:]), words("--head", head))
			if base != "" {
				err = first(err, branch("--base", base))
			}
			return err
		}, &body,
		func(ctx context.Context, s *session, out printer) error {
			into, err := s.orDefaultBranch(ctx, base)
			if err != nil {
				return err
			}
			req := &github.NewPullRequest{Title: &title, Head: &head, Base: &into, Draft: &draft}
			if s.body != "" {
				req.Body = &s.body
			}
			pull, _, err := s.gh.PullRequests.Create(ctx, s.repo.Owner, s.repo.Name, req)
			if err != nil {
				return err
			}
			return out.did("opened", pullItem(pull))
		})
	f := cmd.Flags()
	f.StringVar(&title, "title", "", "its `title`")
	f.StringVar(&head, "head", "", "the pushed `branch` with the changes; of a fork OWNER:BRANCH")
	f.StringVar(&base, "base", "", "the `branch` to change (default: the repository's)")
	f.StringVar(&body, "body-file", "", "its text, in a `file` of the zone")
	f.BoolVar(&draft, "draft", false, "as a draft")
	return cmd
}

// orDefaultBranch returns the branch, or the repository's own where it is "".
func (s *session) orDefaultBranch(ctx context.Context, name string) (string, error) {
	if name != "" {
		return name, nil
	}
	repo, _, err := s.gh.Repositories.Get(ctx, s.repo.Owner, s.repo.Name)
	if err != nil {
		return "", err
	}
	return repo.GetDefaultBranch(), nil
}

func (r *runner) pullList() *cobra.Command {
	var state, head, base, none string
	var most int
	cmd := r.command("pr-list", "list pull requests, the newest first",
		func() error {
			err := first(oneOf("--state", state, "open", "closed", "all"), limit(most))
			if head != "" {
				err = first(err, branch("--head", head[strings.IndexByte(head, ':')+1:]), words("--head", head))
			}
			if base != "" {
				err = first(err, branch("--base", base))
			}
			return err
		}, &none,
		func(ctx context.Context, s *session, out printer) error {
			opts := &github.PullRequestListOptions{State: state, Head: head, Base: base,
				ListOptions: github.ListOptions{PerPage: perPage}}
			if head != "" && !strings.Contains(head, ":") {
				opts.Head = s.repo.Owner + ":" + head
			}
			items := []item{}
			for pull, err := range s.gh.PullRequests.ListIter(ctx, s.repo.Owner, s.repo.Name, opts) {
				if err != nil {
					return err
				}
				if items = append(items, pullItem(pull)); len(items) == most {
					break
				}
			}
			return out.list(items)
		})
	f := cmd.Flags()
	f.StringVar(&state, "state", "open", "open, closed or all")
	f.StringVar(&head, "head", "", "from this `branch`; of a fork OWNER:BRANCH")
	f.StringVar(&base, "base", "", "into this `branch`")
	f.IntVar(&most, "limit", 30, "no more than `N`")
	return cmd
}

func (r *runner) pullView() *cobra.Command {
	var comments bool
	var none string
	cmd := r.numbered("pr-view", "show a pull request", noCheck, &none,
		func(ctx context.Context, s *session, number int, out printer) error {
			pull, _, err := s.gh.PullRequests.Get(ctx, s.repo.Owner, s.repo.Name, number)
			if err != nil {
				return err
			}
			it := pullItem(pull)
			if comments {
				if it.Thread, err = s.thread(ctx, number); err != nil {
					return err
				}
			}
			return out.whole(it)
		})
	cmd.Flags().BoolVar(&comments, "comments", false, "with its comments")
	return cmd
}

func (r *runner) pullDiff() *cobra.Command {
	var none string
	return r.numbered("pr-diff", "show what a pull request changes", noCheck, &none,
		func(ctx context.Context, s *session, number int, out printer) error {
			diff, _, err := s.gh.PullRequests.GetRaw(ctx, s.repo.Owner, s.repo.Name, number, github.RawOptions{Type: github.Diff})
			if err != nil {
				return err
			}
			return out.diff(number, diff)
		})
}
