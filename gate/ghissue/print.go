package ghissue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/go-github/v84/github"
)

// item is an issue or a pull request as --json prints it.
type item struct {
	Number    int       `json:"number"`
	Kind      string    `json:"kind"` // issue or pull
	Title     string    `json:"title"`
	State     string    `json:"state"` // open, closed; of a pull request also merged
	Reason    string    `json:"reason,omitempty"`
	Draft     bool      `json:"draft,omitempty"`
	Author    string    `json:"author"`
	Assignees []string  `json:"assignees"`
	Labels    []string  `json:"labels"`
	Head      string    `json:"head,omitempty"`
	Base      string    `json:"base,omitempty"`
	Comments  int       `json:"comments"`
	URL       string    `json:"url"`
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"`
	Body      string    `json:"body"`
	Thread    []remark  `json:"thread,omitempty"`
}

// remark is a comment.
type remark struct {
	Author  string    `json:"author"`
	Created time.Time `json:"created"`
	URL     string    `json:"url"`
	Body    string    `json:"body"`
}

func issueItem(i *github.Issue) item {
	it := item{
		Number: i.GetNumber(), Kind: "issue", Title: i.GetTitle(), State: i.GetState(), Reason: i.GetStateReason(),
		Draft: i.GetDraft(), Author: i.GetUser().GetLogin(), Assignees: logins(i.Assignees), Labels: labelNames(i.Labels),
		Comments: i.GetComments(), URL: i.GetHTMLURL(), Created: i.GetCreatedAt().Time, Updated: i.GetUpdatedAt().Time,
		Body: i.GetBody(),
	}
	if i.IsPullRequest() {
		it.Kind = "pull"
	}
	return it
}

func pullItem(p *github.PullRequest) item {
	it := item{
		Number: p.GetNumber(), Kind: "pull", Title: p.GetTitle(), State: p.GetState(), Draft: p.GetDraft(),
		Author: p.GetUser().GetLogin(), Assignees: logins(p.Assignees), Labels: labelNames(p.Labels),
		Head: p.GetHead().GetLabel(), Base: p.GetBase().GetRef(), Comments: p.GetComments(), URL: p.GetHTMLURL(),
		Created: p.GetCreatedAt().Time, Updated: p.GetUpdatedAt().Time, Body: p.GetBody(),
	}
	if p.MergedAt != nil {
		it.State = "merged"
	}
	return it
}

func commentRemark(c *github.IssueComment) remark {
	return remark{c.GetUser().GetLogin(), c.GetCreatedAt().Time, c.GetHTMLURL(), c.GetBody()}
}

func logins(users []*github.User) []string {
	all := []string{}
	for _, u := range users {
		all = append(all, u.GetLogin())
	}
	return all
}

func labelNames(ls []*github.Label) []string {
	all := []string{}
	for _, l := range ls {
		all = append(all, l.GetName())
	}
	return all
}

// printer writes results. What others wrote is cleaned as text, and in JSON
// spelled out.
type printer struct {
	out      io.Writer
	json     bool
	terminal bool
}

func (p printer) list(items []item) error {
	if p.json {
		return p.encode(items)
	}
	var b strings.Builder
	for _, it := range items {
		fields := []string{fmt.Sprint("#", it.Number), it.State, it.Title, strings.Join(it.Labels, ", "), it.Updated.UTC().Format(time.RFC3339)}
		for i := range fields {
			fields[i] = oneLine(fields[i])
		}
		b.WriteString(strings.Join(fields, "\t") + "\n")
	}
	return p.write(b.String())
}

// whole prints one with its text.
func (p printer) whole(it item) error {
	if p.json {
		return p.encode(it)
	}
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, oneLine(value))
		}
	}
	line("title", it.Title)
	state := it.State
	if it.Draft {
		state += ", draft"
	}
	if it.Reason != "" {
		state += ", " + it.Reason
	}
	line(it.Kind, fmt.Sprintf("#%d, %s", it.Number, state))
	line("author", it.Author)
	line("assignees", strings.Join(it.Assignees, ", "))
	line("labels", strings.Join(it.Labels, ", "))
	if it.Head != "" {
		line("branches", it.Head+" into "+it.Base)
	}
	line("comments", fmt.Sprint(it.Comments))
	line("created", it.Created.UTC().Format(time.RFC3339))
	line("url", it.URL)
	if body := strings.TrimSpace(text(it.Body)); body != "" {
		b.WriteString("\n" + body + "\n")
	}
	for _, c := range it.Thread {
		fmt.Fprintf(&b, "\n--- %s, %s\n%s\n", oneLine(c.Author), c.Created.UTC().Format(time.RFC3339), strings.TrimSpace(text(c.Body)))
	}
	return p.write(b.String())
}

// did says what became of one.
func (p printer) did(what string, it item) error {
	if p.json {
		return p.encode(it)
	}
	line := fmt.Sprintf("%s #%d %s", what, it.Number, it.URL)
	if what == "labelled" {
		line += "  " + strings.Join(it.Labels, ", ")
	}
	return p.write(oneLine(line) + "\n")
}

func (p printer) commented(number int, c remark) error {
	if p.json {
		return p.encode(c)
	}
	return p.write(oneLine(fmt.Sprintf("commented on #%d %s", number, c.URL)) + "\n")
}

func (p printer) linked(number int, name, from string) error {
	if p.json {
		return p.encode(struct {
			Number int    `json:"number"`
			Branch string `json:"branch"`
			Base   string `json:"base"`
		}{number, name, from})
	}
	return p.write(oneLine(fmt.Sprintf("made branch %s from %s, linked to #%d", name, from, number)) + "\n")
}

// diff prints a patch. To anything but a terminal it goes as it is: a patch
// that was cleaned may apply no more.
func (p printer) diff(number int, diff string) error {
	switch {
	case p.json:
		return p.encode(struct {
			Number int    `json:"number"`
			Diff   string `json:"diff"`
		}{number, diff})
	case p.terminal:
		return p.write(text(diff))
	}
	return p.write(diff)
}

// encode prints JSON in which every character that a terminal acts on or hides
// is spelled out.
func (p printer) encode(v any) error {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	var b strings.Builder
	for rest := raw.Bytes(); len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		rest = rest[n:]
		switch {
		case r == '\n' || !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return p.write(b.String())
}

func (p printer) write(s string) error {
	_, err := io.WriteString(p.out, s)
	return err
}
