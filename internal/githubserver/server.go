// Package githubserver is a server that speaks the part of GitHub's API that
// gh-issue uses, as a GitHub Enterprise server has it, for one repository that
// it keeps in memory. It fails on request, as GitHub does.
package githubserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Commit is the one that every branch is at in the beginning.
const Commit = "6dcb09b5b57875f334f61aebed695e2e4193db5e"

// Server is an http.Handler.
type Server struct {
	Owner, Name string // of the repository
	Token       string // that is accepted

	mu       sync.Mutex
	issues   []*issue // a pull request is one too
	branches map[string]string
	seen     []Seen
	faults   []http.HandlerFunc
	mux      *http.ServeMux
}

// Seen is a request that came.
type Seen struct {
	Method, Path, Authorization string
}

type object = map[string]any

type issue struct {
	number   int
	title    string
	body     string
	state    string
	reason   string
	author   string
	labels   []string
	assigned []string
	comments []object
	pull     *pull
}

type pull struct {
	head, base string
	draft      bool
	merged     bool
}

// born is when everything was made.
var born = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// New returns a server with an empty repository, whose branch is main.
func New(owner, name, token string) *Server {
	s := &Server{Owner: owner, Name: name, Token: token, branches: map[string]string{"main": Commit}}
	s.mux = http.NewServeMux()
	repo := "/api/v3/repos/" + owner + "/" + name
	for pattern, h := range map[string]http.HandlerFunc{
		"GET " + repo:                                       s.repository,
		"GET " + repo + "/issues":                           s.listIssues,
		"POST " + repo + "/issues":                          s.createIssue,
		"GET " + repo + "/issues/{number}":                  s.withIssue(s.getIssue),
		"PATCH " + repo + "/issues/{number}":                s.withIssue(s.editIssue),
		"GET " + repo + "/issues/{number}/comments":         s.withIssue(s.listComments),
		"POST " + repo + "/issues/{number}/comments":        s.withIssue(s.createComment),
		"POST " + repo + "/issues/{number}/labels":          s.withIssue(s.addLabels),
		"DELETE " + repo + "/issues/{number}/labels/{name}": s.withIssue(s.removeLabel),
		"GET " + repo + "/pulls":                            s.listPulls,
		"POST " + repo + "/pulls":                           s.createPull,
		"GET " + repo + "/pulls/{number}":                   s.withIssue(s.getPull),
		"GET " + repo + "/git/ref/heads/{name...}":          s.getRef,
		"POST /api/graphql":                                 s.graphql,
	} {
		s.mux.HandleFunc(pattern, h)
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { notFound(w) })
	return s
}

// AddIssue opens an issue as GitHub's own users would, and returns its number.
func (s *Server) AddIssue(author, title, body string, labels ...string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(&issue{title: title, body: body, author: author, labels: labels}).number
}

// AddPull opens a pull request from a new branch into main.
func (s *Server) AddPull(author, title, head string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.branches[head] = Commit
	return s.add(&issue{title: title, author: author, pull: &pull{head: head, base: "main"}}).number
}

// AddBranch makes a branch, as a push does.
func (s *Server) AddBranch(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.branches[name] = Commit
}

// AddComment comments on an issue.
func (s *Server) AddComment(number int, author, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.issues[number-1]
	i.comments = append(i.comments, s.commentObject(i, author, body))
}

func (s *Server) add(i *issue) *issue {
	i.number, i.state = len(s.issues)+1, "open"
	s.issues = append(s.issues, i)
	return i
}

// Fail lets the faults answer the next requests, one each.
func (s *Server) Fail(faults ...http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Seen returns the requests that came, and forgets them.
func (s *Server) Seen() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, Seen{r.Method, r.URL.EscapedPath(), r.Header.Get("Authorization")})
	var fault http.HandlerFunc
	if len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	switch {
	case fault != nil:
		fault(w, r)
	case r.Header.Get("Authorization") != "Bearer "+s.Token:
		refuse(w, http.StatusUnauthorized, "Bad credentials")
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mux.ServeHTTP(w, r)
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.WriteHeader(status)
	// Nobody is left to tell if the client went away.
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, message string, errors ...object) {
	body := object{"message": message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status)}
	if errors != nil {
		body["errors"] = errors
	}
	reply(w, status, body)
}

func notFound(w http.ResponseWriter) { refuse(w, http.StatusNotFound, "Not Found") }

func invalid(w http.ResponseWriter, errors ...object) {
	refuse(w, http.StatusUnprocessableEntity, "Validation Failed", errors...)
}

// read decodes a request's body, or refuses it.
func read(w http.ResponseWriter, r *http.Request, v any) bool {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		refuse(w, http.StatusBadRequest, "Problems parsing JSON")
		return false
	}
	return true
}

// page replies with the part of a list that is asked for, and links to the
// next one.
func page(w http.ResponseWriter, r *http.Request, all []object) {
	q := r.URL.Query()
	per, n := 30, 1
	if v, err := strconv.Atoi(q.Get("per_page")); err == nil && v > 0 {
		per = min(v, 100)
	}
	if v, err := strconv.Atoi(q.Get("page")); err == nil && v > 0 {
		n = v
	}
	from, to := min((n-1)*per, len(all)), min(n*per, len(all))
	if to < len(all) {
		q.Set("page", strconv.Itoa(n+1))
		w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?%s>; rel="next"`, r.Host, r.URL.Path, q.Encode()))
	}
	reply(w, http.StatusOK, append([]object{}, all[from:to]...))
}

func (s *Server) withIssue(h func(http.ResponseWriter, *http.Request, *issue)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.PathValue("number"))
		if err != nil || n < 1 || n > len(s.issues) {
			notFound(w)
			return
		}
		h(w, r, s.issues[n-1])
	}
}

func user(login string) object { return object{"login": login, "type": "User"} }

func users(logins []string) []object {
	all := []object{}
	for _, l := range logins {
		all = append(all, user(l))
	}
	return all
}

func (s *Server) htmlURL(r *http.Request, kind string, number int) string {
	return fmt.Sprintf("http://%s/%s/%s/%s/%d", r.Host, s.Owner, s.Name, kind, number)
}

func (s *Server) repository(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, object{"name": s.Name, "full_name": s.Owner + "/" + s.Name, "owner": user(s.Owner), "default_branch": "main"})
}

func (s *Server) getRef(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	at, ok := s.branches[name]
	if !ok {
		notFound(w)
		return
	}
	reply(w, http.StatusOK, object{"ref": "refs/heads/" + name, "object": object{"type": "commit", "sha": at}})
}

func (s *Server) graphql(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Query     string
		Variables struct {
			Input struct{ IssueID, OID, Name string }
		}
	}
	if !read(w, r, &q) {
		return
	}
	in := q.Variables.Input
	fail := func(kind, message string) {
		reply(w, http.StatusOK, object{"data": object{"createLinkedBranch": nil},
			"errors": []object{{"type": kind, "path": []string{"createLinkedBranch"}, "message": message}}})
	}
	if !strings.Contains(q.Query, "createLinkedBranch(input: $input)") {
		fail("undefinedField", "Field doesn't exist on type 'Mutation'")
		return
	}
	known := slices.ContainsFunc(s.issues, func(i *issue) bool { return i.pull == nil && i.nodeID() == in.IssueID })
	_, taken := s.branches[in.Name]
	switch {
	case !known:
		fail("NOT_FOUND", fmt.Sprintf("Could not resolve to Issue node with the global id of '%s'.", in.IssueID))
	case in.OID != Commit:
		fail("UNPROCESSABLE", "OID is not a commit")
	case taken:
		reply(w, http.StatusOK, object{"data": object{"createLinkedBranch": object{"linkedBranch": nil}}})
	default:
		s.branches[in.Name] = in.OID
		reply(w, http.StatusOK, object{"data": object{"createLinkedBranch": object{"linkedBranch": object{"ref": object{"name": in.Name}}}}})
	}
}
