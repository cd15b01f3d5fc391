package githubserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Patch is the diff of every pull request. It is of two kinds of line ends and
// has a control sequence in it.
const Patch = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\r\n+new \x1b[31mred\x1b[0m\n"

func (s *Server) pullObject(r *http.Request, i *issue) object {
	o := s.issueObject(r, i)
	delete(o, "pull_request")
	o["draft"] = i.pull.draft
	o["head"] = object{"ref": i.pull.head, "label": s.Owner + ":" + i.pull.head, "sha": Commit}
	o["base"] = object{"ref": i.pull.base, "label": s.Owner + ":" + i.pull.base, "sha": Commit}
	o["merged"] = i.pull.merged
	if i.pull.merged {
		o["merged_at"] = born
	}
	return o
}

func (s *Server) listPulls(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	all := []object{}
	for _, i := range slices.Backward(s.issues) {
		if i.pull == nil || !inState(i, q.Get("state")) || q.Get("base") != "" && q.Get("base") != i.pull.base {
			continue
		}
		if h := q.Get("head"); h != "" && h != s.Owner+":"+i.pull.head {
			continue
		}
		all = append(all, s.pullObject(r, i))
	}
	page(w, r, all)
}

func (s *Server) getPull(w http.ResponseWriter, r *http.Request, i *issue) {
	switch {
	case i.pull == nil:
		notFound(w)
	case strings.HasSuffix(r.Header.Get("Accept"), "v3.diff"):
		w.Header().Set("Content-Type", "application/vnd.github.v3.diff; charset=utf-8")
		_, _ = w.Write([]byte(Patch))
	default:
		reply(w, http.StatusOK, s.pullObject(r, i))
	}
}

func (s *Server) createPull(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Title, Head, Base, Body string
		Draft                   bool
	}
	if !read(w, r, &in) {
		return
	}
	head := strings.TrimPrefix(in.Head, s.Owner+":")
	_, pushed := s.branches[head]
	_, known := s.branches[in.Base]
	switch {
	case in.Title == "":
		invalid(w, object{"resource": "PullRequest", "code": "missing_field", "field": "title"})
	case !pushed:
		invalid(w, object{"resource": "PullRequest", "code": "invalid", "field": "head"})
	case !known:
		invalid(w, object{"resource": "PullRequest", "code": "invalid", "field": "base"})
	case slices.ContainsFunc(s.issues, func(i *issue) bool { return i.pull != nil && i.pull.head == head && i.state == "open" }):
		invalid(w, object{"resource": "PullRequest", "code": "custom",
			"message": fmt.Sprintf("A pull request already exists for %s:%s.", s.Owner, head)})
	default:
		i := s.add(&issue{title: in.Title, body: in.Body, author: "agent", pull: &pull{head: head, base: in.Base, draft: in.Draft}})
		reply(w, http.StatusCreated, s.pullObject(r, i))
	}
}
