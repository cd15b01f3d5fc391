package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agent-cage/agent-cage/policy/strictjson"
)

// MaxEnvelope bounds an event, in bytes.
const MaxEnvelope = 16 << 20

// Event is what a harness tells its hook.
type Event struct {
	Call           Call
	Name           string // hook_event_name
	PermissionMode string // of the harness; may be empty
}

// ParseEvent reads an event strictly. Keys that it does not know are left
// alone as long as they cannot be taken for those it knows.
func ParseEvent(data []byte) (Event, error) {
	if len(data) > MaxEnvelope {
		return Event{}, fmt.Errorf("the event is larger than %d bytes", MaxEnvelope)
	}
	v, err := strictjson.Parse(data)
	if err != nil {
		return Event{}, err
	}
	if v.Kind != strictjson.Object {
		return Event{}, errors.New("the event is not an object")
	}
	var e Event
	for _, k := range []struct {
		key      string
		to       *string
		required bool
	}{
		{"hook_event_name", &e.Name, true},
		{"tool_name", &e.Call.Tool, true},
		{"cwd", &e.Call.Cwd, true},
		{"permission_mode", &e.PermissionMode, false},
	} {
		got := v.Get(k.key)
		switch {
		case got.Kind == strictjson.String:
			*k.to = got.Text
		case got.Kind == strictjson.Invalid && !k.required:
		case got.Kind == strictjson.Invalid:
			return Event{}, fmt.Errorf("the event has no %s", k.key)
		default:
			return Event{}, fmt.Errorf("the event's %s is not a string", k.key)
		}
	}
	e.Call.Input = v.Get("tool_input")
	if e.Call.Input.Kind == strictjson.Invalid {
		return Event{}, errors.New("the event has no tool_input")
	}
	for _, m := range v.Members {
		for _, known := range []string{"hook_event_name", "tool_name", "tool_input", "cwd", "permission_mode"} {
			if m.Key != known && strings.EqualFold(m.Key, known) {
				return Event{}, fmt.Errorf("the event has a key %q beside %s", m.Key, known)
			}
		}
	}
	return e, nil
}
