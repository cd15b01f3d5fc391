package gate

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/agent-cage/agent-cage/policy"
	"github.com/agent-cage/agent-cage/policy/strictjson"
	"github.com/agent-cage/agent-cage/zone"
)

// stateDir is where records go, below the home directory and outside the zone.
const stateDir = ".local/state/agent-cage"

// record appends one line about a decision to gate.jsonl. It names programs
// and no arguments, which may be secret.
func (e Env) record(z zone.Zone, h *harness, event policy.Event, v policy.Verdict) error {
	str := func(k, s string) strictjson.Member {
		return strictjson.Member{Key: k, Value: strictjson.Value{Kind: strictjson.String, Text: s}}
	}
	programs := strictjson.Value{Kind: strictjson.Array}
	for _, s := range v.Segments {
		if len(s.Args) > 0 {
			programs.Items = append(programs.Items,
				strictjson.Value{Kind: strictjson.String, Text: path.Base(s.Args[0])})
		}
	}
	line := strictjson.Append(nil, strictjson.Value{Kind: strictjson.Object, Members: []strictjson.Member{
		str("time", e.Now().UTC().Format(time.RFC3339Nano)),
		str("harness", h.name),
		str("tool", event.Call.Tool),
		str("cwd", event.Call.Cwd),
		str("class", string(v.Class)),
		str("code", string(v.Code)),
		{Key: "programs", Value: programs},
	}})
	dir := filepath.Join(z.Home, stateDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "gate.jsonl"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	// One write, so that lines of many hooks do not mix.
	if _, err := f.Write(append(line, '\n')); err != nil {
		f.Close()
		return fmt.Errorf("recording: %w", err)
	}
	return f.Close()
}
