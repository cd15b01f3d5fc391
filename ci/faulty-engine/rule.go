package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// rule is what happens to one kind of request.
type rule struct {
	method  string
	path    *regexp.Regexp
	action  string
	command string        // of run and edit
	pause   time.Duration // of delay and lose-after
	bytes   int64         // of stall
	status  int           // of status
	message string        // of status
}

func parseRule(text string) (r rule, err error) {
	fields := strings.Fields(text)
	if len(fields) < 3 {
		return r, fmt.Errorf("rule %q: want METHOD PATTERN ACTION [ARGUMENT]", text)
	}
	r.method, r.action = fields[0], fields[2]
	if r.path, err = regexp.Compile(fields[1]); err != nil {
		return r, err
	}
	rest := fields[3:]
	argument := strings.Join(rest, " ")
	switch r.action {
	case "run", "edit":
		r.command = argument
	case "delay", "lose-after":
		r.pause, err = time.ParseDuration(argument)
	case "stall":
		r.bytes, err = strconv.ParseInt(argument, 10, 64)
	case "status":
		if len(rest) == 0 {
			return r, fmt.Errorf("rule %q: a status is missing", text)
		}
		r.status, err = strconv.Atoi(rest[0])
		r.message = strings.Join(rest[1:], " ")
	case "lose":
	default:
		err = fmt.Errorf("rule %q: no action %q", text, r.action)
	}
	return r, err
}

func (r rule) fits(method, path string) bool {
	return r.method == method && r.path.MatchString(path)
}
