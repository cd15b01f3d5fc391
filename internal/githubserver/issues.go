package githubserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

func (i *issue) nodeID() string {
	if i.pull != nil {
		return fmt.Sprintf("PR_%d", i.number)
	}
	return fmt.Sprintf("I_%d", i.number)
}

func (s *Server) issueObject(r *http.Request, i *issue) object {
	labels := []object{}
	for _, l := range i.labels {
		labels = append(labels, object{"name": l, "color": "ededed"})
	}
	kind := "issues"
	o := object{
		"number": i.number, "node_id": i.nodeID(), "title": i.title, "body": i.body, "state": i.state,
		"user": user(i.author), "labels": labels, "assignees": users(i.assigned), "comments": len(i.comments),
		"created_at": born, "updated_at": born, "locked": false,
	}
	if i.reason != "" {
		o["state_reason"] = i.reason
	}
	if i.pull != nil {
		kind = "pull"
		o["pull_request"] = object{"url": "http://" + r.Host + r.URL.Path}
	}
	o["html_url"] = s.htmlURL(r, kind, i.number)
	return o
}

func (s *Server) listIssues(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	all := []object{}
	for _, i := range slices.Backward(s.issues) {
		if !inState(i, q.Get("state")) || q.Get("creator") != "" && q.Get("creator") != i.author {
			continue
		}
		if a := q.Get("assignee"); a != "" && !slices.Contains(i.assigned, a) {
			continue
		}
		if ls := q.Get("labels"); ls != "" && slices.ContainsFunc(strings.Split(ls, ","),
			func(l string) bool { return !slices.Contains(i.labels, l) }) {
			continue
		}
		all = append(all, s.issueObject(r, i))
	}
	page(w, r, all)
}

func inState(i *issue, state string) bool {
	return state == "all" || i.state == state || state == "" && i.state == "open"
}

func (s *Server) getIssue(w http.ResponseWriter, r *http.Request, i *issue) {
	reply(w, http.StatusOK, s.issueObject(r, i))
}

func (s *Server) createIssue(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Title, Body       string
		Labels, Assignees []string
	}
	if !read(w, r, &in) {
		return
	}
	if in.Title == "" {
		invalid(w, object{"resource": "Issue", "code": "missing_field", "field": "title"})
		return
	}
	i := s.add(&issue{title: in.Title, body: in.Body, author: "agent", labels: in.Labels, assigned: in.Assignees})
	reply(w, http.StatusCreated, s.issueObject(r, i))
}

func (s *Server) editIssue(w http.ResponseWriter, r *http.Request, i *issue) {
	var in struct {
		State       string
		StateReason string `json:"state_reason"`
	}
	if !read(w, r, &in) {
		return
	}
	switch in.State {
	case "closed":
		i.reason = in.StateReason
	case "open":
		if i.pull != nil && i.pull.merged {
			invalid(w, object{"resource": "PullRequest", "code": "custom", "message": "A merged pull request cannot be reopened."})
			return
		}
		i.reason = ""
	default:
		invalid(w, object{"resource": "Issue", "code": "invalid", "field": "state"})
		return
	}
	i.state = in.State
	reply(w, http.StatusOK, s.issueObject(r, i))
}

func (s *Server) commentObject(i *issue, author, body string) object {
	return object{"id": len(i.comments) + 1, "user": user(author), "body": body, "created_at": born,
		"html_url": fmt.Sprintf("https://github.test/%s/%s/issues/%d#issuecomment-%d", s.Owner, s.Name, i.number, len(i.comments)+1)}
}

func (s *Server) listComments(w http.ResponseWriter, r *http.Request, i *issue) {
	page(w, r, i.comments)
}

func (s *Server) createComment(w http.ResponseWriter, r *http.Request, i *issue) {
	var in struct{ Body string }
	if !read(w, r, &in) {
		return
	}
	if in.Body == "" {
		invalid(w, object{"resource": "IssueComment", "code": "missing_field", "field": "body"})
		return
	}
	c := s.commentObject(i, "agent", in.Body)
	i.comments = append(i.comments, c)
	reply(w, http.StatusCreated, c)
}

func (s *Server) addLabels(w http.ResponseWriter, r *http.Request, i *issue) {
	var names []string
	if !read(w, r, &names) {
		return
	}
	for _, n := range names {
		if !slices.Contains(i.labels, n) {
			i.labels = append(i.labels, n)
		}
	}
	reply(w, http.StatusOK, s.issueObject(r, i)["labels"])
}

func (s *Server) removeLabel(w http.ResponseWriter, r *http.Request, i *issue) {
	at := slices.Index(i.labels, r.PathValue("name"))
	if at < 0 {
		refuse(w, http.StatusNotFound, "Label does not exist")
		return
	}
	i.labels = slices.Delete(i.labels, at, at+1)
	reply(w, http.StatusOK, s.issueObject(r, i)["labels"])
}
