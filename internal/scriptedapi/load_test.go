package scriptedapi

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{`{}`, "no turns"},
		{`{"turns":[]}`, "no turns"},
		{`{"turns":[{"reply":[{"text":"x"}]}]} {}`, "more than one JSON value"},
		{`{"turns":[{"reply":[{"text":"x"}]}],"conversations":[{"turns":[{"reply":[{"text":"x"}]}]}]}`, "both turns and conversations"},
		{`{"turns":[{"reply":[{"txt":"x"}]}]}`, "unknown field"},
		{`{"turns":[{}]}`, "turn 1: neither reply nor fault"},
		{`{"turns":[{"reply":[{}]}]}`, "needs either text or call"},
		{`{"turns":[{"reply":[{"text":"x","call":"y"}]}]}`, "needs either text or call"},
		{`{"turns":[{"reply":[{"call":"y","input":3}]}]}`, "neither an object nor a string"},
		{`{"turns":[{"reply":[{"text":"x"}],"times":2}]}`, "times is for turns with a fault"},
		{`{"turns":[{"fault":{}}]}`, "one of status, event and cut"},
		{`{"turns":[{"fault":{"status":500,"event":true}}]}`, "one of status, event and cut"},
		{`{"turns":[{"fault":{"status":200}}]}`, "is no error"},
		{`{"turns":[{"fault":{"cut":"later"}}]}`, "unknown cut"},
		{`{"turns":[{"fault":{"status":500},"reply":[{"text":"x"}]}]}`, "cannot go before this fault"},
		{`{"turns":[{"reply":[{"text":"{{nobody}}"}]}]}`, "{{nobody}} has no value"},
		{`{"turns":[{"reply":[{"call":"x","input":{"a":["{{late}}"]}}]},{"expect":{"capture":{"late":"."}},"reply":[{"text":"x"}]}]}`, "turn 1: {{late}} has no value"},
		{`{"turns":[{"expect":{"capture":{"x":"("}},"reply":[{"text":"x"}]}]}`, "capture x"},
		{`{"turns":[{"reply":[{"text":"x"}],"wait":"-1s"}]}`, "negative duration"},
		{`{"conversations":[{"match":{"api":"soap"},"turns":[{"reply":[{"text":"x"}]}]}]}`, "unknown api"},
	} {
		_, err := Load(strings.NewReader(c.script), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.script, err, c.want)
		}
	}
}

func TestLoadExpands(t *testing.T) {
	script, err := Load(strings.NewReader(`{"turns":[{
		"expect": {"prompt": "{{who}}", "capture": {"id": "id=(\\d+)"}},
		"reply": [{"call": "x", "input": {"a": ["{{who}} {{id}} {{cwd}}", 1, true], "b": "{{.State.Pid}} {{json .}}"}}]}]}`),
		map[string]string{"who": "you \"and\" me"})
	if err != nil {
		t.Fatal(err)
	}
	turn := script.Conversations[0].Turns[0]
	equal(t, "prompt", turn.Expect.Prompt[0], `you "and" me`)
	got, err := json.Marshal(turn.Reply[0].Input)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "input", string(got), `{"a":["you \"and\" me {{id}} {{cwd}}",1,true],"b":"{{.State.Pid}} {{json .}}"}`)
}
