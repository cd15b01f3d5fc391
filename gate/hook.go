package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/agent-cage/agent-cage/policy"
	"github.com/agent-cage/agent-cage/policy/strictjson"
)

// action is what a hook wants to become of a call.
type action string

const (
	actSilent action = "silent" // say nothing: the harness's own rules apply
	actAllow  action = "allow"
	actAsk    action = "ask"
	actDeny   action = "deny"
)

// decision is an action with what belongs to it.
type decision struct {
	action action
	reason string
	input  *strictjson.Value // the input to use instead; nil means as it is
	green  bool              // by the gate's own rules
}

// hook answers one event. Its work is done aside, so that a panic or a disk
// that does not answer ends in a blocked call too.
func hook(e Env, args []string) int {
	if len(args) != 1 || harnesses[args[0]] == nil {
		return e.fail(errors.New("usage: cage-gate hook claude|codex"))
	}
	type result struct {
		answer []byte
		err    error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r = result{err: fmt.Errorf("internal error: %v", p)}
			}
			done <- r
		}()
		r.answer, r.err = e.answer(harnesses[args[0]])
	}()
	timer := time.NewTimer(e.Deadline)
	defer timer.Stop()
	select {
	case r := <-done:
		if r.err == nil && len(r.answer) > 0 {
			_, r.err = e.Stdout.Write(r.answer)
		}
		if r.err != nil {
			return e.fail(r.err)
		}
		return 0
	case <-timer.C:
		return e.fail(fmt.Errorf("no decision within %v", e.Deadline))
	}
}

// answer reads the event and returns what to print.
func (e Env) answer(h *harness) ([]byte, error) {
	conf, z, err := e.load()
	if err != nil {
		return nil, err
	}
	data, err := readEvent(e.Stdin)
	if err != nil {
		return nil, err
	}
	if conf.Mode == ModeOff {
		return nil, nil
	}
	event, err := policy.ParseEvent(data)
	if err != nil {
		return nil, err
	}
	if event.Name != "PreToolUse" {
		return nil, fmt.Errorf("registered for the event %q instead of PreToolUse", event.Name)
	}
	c := policy.New(e.world(conf, z, event.Call.Cwd))
	v := c.Classify(event.Call)
	d := h.adapt(decide(c, conf.Mode, event, v))
	if err := e.record(z, h, conf.Mode, event, v, d); err != nil {
		return nil, err
	}
	if conf.Mode == ModeAudit {
		return nil, nil
	}
	return h.encode(d), nil
}

// readEvent reads an event up to the size that is accepted.
func readEvent(r io.Reader) ([]byte, error) {
	var buf bytes.Buffer
	n, err := io.Copy(&buf, io.LimitReader(r, policy.MaxEnvelope+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the event: %w", err)
	case n > policy.MaxEnvelope:
		return nil, fmt.Errorf("the event is larger than %d bytes", policy.MaxEnvelope)
	}
	return buf.Bytes(), nil
}

// decide turns a verdict into an action.
func decide(c *policy.Classifier, m Mode, event policy.Event, v policy.Verdict) decision {
	switch v.Class {
	case policy.Ungated:
		return decision{action: actSilent}
	case policy.Green:
		d := decision{action: actAllow, reason: v.Reason, green: true}
		if v.Rewrite != "" {
			input := event.Call.Input.With("command", v.Rewrite)
			d.input = &input
		}
		return d
	}
	switch m {
	case ModeDeny:
		return decision{action: actDeny, reason: v.Reason}
	case ModeCage:
		if command, ok := c.Cage(event.Call); ok {
			input := event.Call.Input.With("command", command)
			return decision{action: actAllow, input: &input,
				reason: "Not green as it stands, so it runs in the cage: cd and variables do not persist, there is no network. " + v.Reason}
		}
	}
	return decision{action: actAsk, reason: v.Reason}
}
