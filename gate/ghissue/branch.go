package ghissue

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/google/go-github/v84/github"
	"github.com/spf13/cobra"
)

func (r *runner) linkBranch() *cobra.Command {
	var name, base, none string
	cmd := r.numbered("link-branch", "make a branch that is linked to an issue",
		func() error {
			err := branch("--branch", name)
			if base != "" {
				err = first(err, branch("--base", base))
			}
			return err
		}, &none,
		func(ctx context.Context, s *session, number int, out printer) error {
			issue, _, err := s.gh.Issues.Get(ctx, s.repo.Owner, s.repo.Name, number)
			if err != nil {
				return err
			}
			from, err := s.orDefaultBranch(ctx, base)
			if err != nil {
				return err
			}
			ref, _, err := s.gh.Git.GetRef(ctx, s.repo.Owner, s.repo.Name, "heads/"+from)
			if err != nil {
				return err
			}
			made, err := s.createLinkedBranch(ctx, issue.GetNodeID(), ref.GetObject().GetSHA(), name)
			if err != nil {
				return err
			}
			return out.linked(number, made, from)
		})
	f := cmd.Flags()
	f.StringVar(&name, "branch", "", "its `name`; there must be none of that name yet")
	f.StringVar(&base, "base", "", "the `branch` to begin at (default: the repository's)")
	return cmd
}

// linking is what REST has no call for.
const linking = `mutation($input: CreateLinkedBranchInput!) {
  createLinkedBranch(input: $input) { linkedBranch { ref { name } } }
}`

type linkingRequest struct {
	Query     string           `json:"query"`
	Variables linkingVariables `json:"variables"`
}

type linkingVariables struct {
	Input linkingInput `json:"input"`
}

type linkingInput struct {
	IssueID string `json:"issueId"`
	OID     string `json:"oid"`
	Name    string `json:"name"`
}

type linkingAnswer struct {
	Data struct {
		CreateLinkedBranch *struct {
			LinkedBranch *struct {
				Ref *struct {
					Name string `json:"name"`
				} `json:"ref"`
			} `json:"linkedBranch"`
		} `json:"createLinkedBranch"`
	} `json:"data"`
	Errors graphErrors `json:"errors"`
}

// graphErrors are what GraphQL finds wrong, in an answer of status 200.
type graphErrors []struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

func (g graphErrors) Error() string {
	var all []string
	for _, e := range g {
		all = append(all, e.Message)
	}
	return "GitHub refuses: " + strings.Join(all, "; ")
}

// createLinkedBranch makes the branch at the commit and returns its name.
func (s *session) createLinkedBranch(ctx context.Context, issueID, oid, name string) (string, error) {
	req, err := s.gh.NewRequest(http.MethodPost, s.graphql,
		linkingRequest{linking, linkingVariables{linkingInput{issueID, oid, name}}})
	if err != nil {
		return "", err
	}
	var answer linkingAnswer
	resp, err := s.gh.Do(ctx, req, &answer)
	if err != nil {
		return "", err
	}
	for _, e := range answer.Errors {
		if e.Type == "RATE_LIMITED" {
			return "", &github.RateLimitError{Rate: resp.Rate, Response: resp.Response, Message: e.Message}
		}
	}
	if len(answer.Errors) > 0 {
		return "", answer.Errors
	}
	// Where the name is taken GitHub answers without an error and without a branch.
	made := answer.Data.CreateLinkedBranch
	if made == nil || made.LinkedBranch == nil || made.LinkedBranch.Ref == nil {
		return "", errors.New("GitHub made no branch; is there one named " + name + " already?")
	}
	return made.LinkedBranch.Ref.Name, nil
}
