package scriptedapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
)

// Load reads a script and puts vars into it. It fails on an unknown field, on
// a turn that makes no sense and on a {{name}} that nothing will define.
func Load(r io.Reader, vars map[string]string) (*Script, error) {
	var script Script
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&script); err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	if dec.More() {
		return nil, errors.New("script: more than one JSON value")
	}
	if err := script.prepare(vars); err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return &script, nil
}

// LoadFile is Load from a file.
func LoadFile(path string, vars map[string]string) (*Script, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	script, err := Load(f, vars)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return script, nil
}

// prepare brings the script to its long form and checks it.
func (s *Script) prepare(vars map[string]string) error {
	if len(s.Turns) > 0 {
		if len(s.Conversations) > 0 {
			return errors.New("both turns and conversations")
		}
		s.Conversations = []*Conversation{{Turns: s.Turns}}
		s.Turns = nil
	}
	if len(s.Conversations) == 0 {
		return errors.New("no turns")
	}
	if s.Auxiliary == "" {
		s.Auxiliary = "ok"
	}
	for i, c := range s.Conversations {
		if c.Name == "" {
			c.Name = strconv.Itoa(i + 1)
		}
		if err := c.prepare(vars); err != nil {
			return fmt.Errorf("conversation %s: %w", c.Name, err)
		}
	}
	return nil
}

func (c *Conversation) prepare(vars map[string]string) error {
	switch c.Match.API {
	case "", Messages, Responses:
	default:
		return fmt.Errorf("unknown api %q", c.Match.API)
	}
	if len(c.Turns) == 0 {
		return errors.New("no turns")
	}
	c.Match.Prompt = expandAll(c.Match.Prompt, vars)
	known := []string{cwdVar}
	for i, t := range c.Turns {
		if err := t.prepare(vars, &known); err != nil {
			return fmt.Errorf("turn %d: %w", i+1, err)
		}
	}
	return nil
}

// prepare checks a turn. known are the variables that will have a value when
// the turn is answered; those that the turn captures are added to it.
func (t *Turn) prepare(vars map[string]string, known *[]string) error {
	if err := t.checkShape(); err != nil {
		return err
	}
	for name, expr := range t.Expect.Capture {
		if _, err := regexp.Compile(expr); err != nil {
			return fmt.Errorf("capture %s: %w", name, err)
		}
		*known = append(*known, name)
	}
	*t = t.expand(vars)
	for _, name := range t.variables() {
		if !slices.Contains(*known, name) {
			return fmt.Errorf("{{%s}} has no value", name)
		}
	}
	return nil
}

func (t *Turn) checkShape() error {
	if len(t.Reply) == 0 && t.Fault == nil {
		return errors.New("neither reply nor fault")
	}
	if t.Times < 0 || t.Times > 1 && t.Fault == nil {
		return errors.New("times is for turns with a fault")
	}
	for i, item := range t.Reply {
		if (item.Text == "") == (item.Call == "") {
			return fmt.Errorf("reply %d: needs either text or call", i+1)
		}
		switch item.Input.(type) {
		case nil, string, map[string]any:
		default:
			return fmt.Errorf("reply %d: input is neither an object nor a string", i+1)
		}
	}
	if t.Fault == nil {
		return nil
	}
	return t.Fault.check(len(t.Reply) > 0)
}

func (f *Fault) check(hasReply bool) error {
	kinds := 0
	for _, set := range []bool{f.Status != 0, f.Event, f.Cut != ""} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		return errors.New("a fault is one of status, event and cut")
	}
	if f.Status != 0 && (f.Status < 400 || f.Status > 599) {
		return fmt.Errorf("fault status %d is no error", f.Status)
	}
	if f.Cut != "" && f.Cut != CutBefore && f.Cut != CutStream {
		return fmt.Errorf("unknown cut %q", f.Cut)
	}
	if hasReply && (f.Status != 0 || f.Cut == CutBefore) {
		return errors.New("a reply cannot go before this fault")
	}
	return nil
}
