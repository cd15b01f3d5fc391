package ghissue

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/google/go-github/v84/github"
	"github.com/spf13/cobra"
)

// perPage is the most that GitHub gives at once.
const perPage = 100

// maxComments bounds what view prints.
const maxComments = 1000

func (r *runner) list() *cobra.Command {
	var state, author, assignee, none string
	var names []string
	var most int
	cmd := r.command("list", "list issues, the newest first",
		func() error {
			err := first(oneOf("--state", state, "open", "closed", "all"), labels("--label", names...), limit(most))
			for flag, v := range map[string]string{"--author": author, "--assignee": assignee} {
				if v != "" {
					err = first(err, words(flag, v))
				}
			}
			return err
		}, &none,
		func(ctx context.Context, s *session, out printer) error {
			opts := &github.IssueListByRepoOptions{State: state, Creator: author, Assignee: assignee, Labels: names}
			opts.ListOptions.PerPage = perPage
			items := []item{}
			for issue, err := range s.gh.Issues.ListByRepoIter(ctx, s.repo.Owner, s.repo.Name, opts) {
				if err != nil {
					return err
				}
				// To GitHub a pull request is an issue too.
				if issue.IsPullRequest() {
					continue
				}
				if items = append(items, issueItem(issue)); len(items) == most {
					break
				}
			}
			return out.list(items)
		})
	f := cmd.Flags()
	f.StringVar(&state, "state", "open", "open, closed or all")
	f.StringVar(&author, "author", "", "opened by this `user`")
	f.StringVar(&assignee, "assignee", "", "assigned to this `user`")
	f.StringArrayVar(&names, "label", nil, "with this `label`; may be repeated")
	f.IntVar(&most, "limit", 30, "no more than `N`")
	return cmd
}

func (r *runner) view() *cobra.Command {
	var comments bool
	var none string
	cmd := r.numbered("view", "show an issue or pull request", noCheck, &none,
		func(ctx context.Context, s *session, number int, out printer) error {
			issue, _, err := s.gh.Issues.Get(ctx, s.repo.Owner, s.repo.Name, number)
			if err != nil {
				return err
			}
			it := issueItem(issue)
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

// thread returns the comments on an issue or pull request.
func (s *session) thread(ctx context.Context, number int) ([]remark, error) {
	thread := []remark{}
	opts := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{PerPage: perPage}}
	for c, err := range s.gh.Issues.ListCommentsIter(ctx, s.repo.Owner, s.repo.Name, number, opts) {
		if err != nil {
			return nil, err
		}
		if thread = append(thread, commentRemark(c)); len(thread) == maxComments {
			break
		}
	}
	return thread, nil
}

func (r *runner) create() *cobra.Command {
	var title, body string
	var names, assignees []string
	cmd := r.command("create", "open an issue",
		func() error {
			return first(words("--title", title), labels("--label", names...), words("--assignee", assignees...))
		}, &body,
		func(ctx context.Context, s *session, out printer) error {
			req := &github.IssueRequest{Title: &title}
			if s.body != "" {
				req.Body = &s.body
			}
			if names != nil {
				req.Labels = &names
			}
			if assignees != nil {
				req.Assignees = &assignees
			}
			issue, _, err := s.gh.Issues.Create(ctx, s.repo.Owner, s.repo.Name, req)
			if err != nil {
				return err
			}
			return out.did("opened", issueItem(issue))
		})
	f := cmd.Flags()
	f.StringVar(&title, "title", "", "its `title`")
	f.StringVar(&body, "body-file", "", "its text, in a `file` of the zone")
	f.StringArrayVar(&names, "label", nil, "a `label`; may be repeated")
	f.StringArrayVar(&assignees, "assignee", nil, "a `user`; may be repeated")
	return cmd
}

func (r *runner) comment() *cobra.Command {
	var body string
	cmd := r.numbered("comment", "comment on an issue or pull request",
		func() error {
			if body == "" {
				return usagef("--body-file is missing")
			}
			return nil
		}, &body,
		func(ctx context.Context, s *session, number int, out printer) error {
			c, _, err := s.gh.Issues.CreateComment(ctx, s.repo.Owner, s.repo.Name, number, &github.IssueComment{Body: &s.body})
			if err != nil {
				return err
			}
			return out.commented(number, commentRemark(c))
		})
	cmd.Flags().StringVar(&body, "body-file", "", "the text, in a `file` of the zone")
	return cmd
}

func (r *runner) closing() *cobra.Command {
	var reason, none string
	cmd := r.numbered("close", "close an issue or pull request",
		func() error {
			if reason == "" {
				return nil
			}
			return oneOf("--reason", reason, "completed", "not_planned")
		}, &none,
		func(ctx context.Context, s *session, number int, out printer) error {
			req := &github.IssueRequest{State: github.Ptr("closed")}
			if reason != "" {
				req.StateReason = &reason
			}
			return s.edit(ctx, number, req, "closed", out)
		})
	cmd.Flags().StringVar(&reason, "reason", "", "completed or not_planned")
	return cmd
}

func (r *runner) reopen() *cobra.Command {
	var none string
	return r.numbered("reopen", "open an issue or pull request again", noCheck, &none,
		func(ctx context.Context, s *session, number int, out printer) error {
			return s.edit(ctx, number, &github.IssueRequest{State: github.Ptr("open")}, "reopened", out)
		})
}

func (s *session) edit(ctx context.Context, number int, req *github.IssueRequest, done string, out printer) error {
	issue, _, err := s.gh.Issues.Edit(ctx, s.repo.Owner, s.repo.Name, number, req)
	if err != nil {
		return err
	}
	return out.did(done, issueItem(issue))
}

func (r *runner) label() *cobra.Command {
	var add, remove []string
	var none string
	cmd := r.numbered("label", "add and remove labels of an issue or pull request",
		func() error {
			if add == nil && remove == nil {
				return usagef("label: nothing to --add or --remove")
			}
			return first(labels("--add", add...), labels("--remove", remove...))
		}, &none,
		func(ctx context.Context, s *session, number int, out printer) error {
			if add != nil {
				if _, _, err := s.gh.Issues.AddLabelsToIssue(ctx, s.repo.Owner, s.repo.Name, number, add); err != nil {
					return err
				}
			}
			for _, name := range remove {
				// The library puts the name into the URL as it is.
				_, err := s.gh.Issues.RemoveLabelForIssue(ctx, s.repo.Owner, s.repo.Name, number, url.PathEscape(name))
				if err != nil && !notThere(err, "Label does not exist") {
					return err
				}
			}
			issue, _, err := s.gh.Issues.Get(ctx, s.repo.Owner, s.repo.Name, number)
			if err != nil {
				return err
			}
			return out.did("labelled", issueItem(issue))
		})
	f := cmd.Flags()
	f.StringArrayVar(&add, "add", nil, "a `label` to add; may be repeated")
	f.StringArrayVar(&remove, "remove", nil, "a `label` to remove; may be repeated")
	return cmd
}

// notThere reports whether the server found something missing, and this.
func notThere(err error, message string) bool {
	var e *github.ErrorResponse
	return errors.As(err, &e) && e.Response.StatusCode == http.StatusNotFound && e.Message == message
}
