package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/agent-cage/agent-cage/gate/auditlog"
	"github.com/agent-cage/agent-cage/gate/redact"
	"github.com/agent-cage/agent-cage/policy"
	"github.com/agent-cage/agent-cage/zone"
)

// maxRecorded bounds what is kept of a command or path, in bytes.
const maxRecorded = 2 << 10

// The deciders of a record.
const (
	byRule   = "rule"
	byMemory = "memory"
	byPrompt = "prompt" // passed on to the harness's own rules
)

// stateDir is where cage-gate keeps what it writes: agent-cage below
// XDG_STATE_HOME, else below ~/.local/state. It has to be outside the zone.
func (e Env) stateDir(z zone.Zone) (string, error) {
	base := e.getenv("XDG_STATE_HOME")
	if base == "" {
		base = filepath.Join(z.Home, ".local/state")
	}
	if !path.IsAbs(base) {
		return "", fmt.Errorf("XDG_STATE_HOME is %q, not an absolute path", base)
	}
	dir := filepath.Join(base, "agent-cage")
	return dir, outside(z, dir)
}

// outside refuses a path that lies in the zone, by itself or through the
// symlinks of those of its directories that exist.
func outside(z zone.Zone, name string) error {
	for rest, p := "", name; ; {
		real, err := filepath.EvalSymlinks(p)
		if err == nil {
			for _, q := range []string{name, filepath.Join(real, rest)} {
				if r, ok := z.RootOf(q); ok {
					return fmt.Errorf("%s is inside the zone root %s, where caged commands write", name, r.Path)
				}
			}
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		rest, p = filepath.Join(filepath.Base(p), rest), filepath.Dir(p)
	}
}

func (e Env) log(z zone.Zone) (auditlog.Log, error) {
	dir, err := e.stateDir(z)
	return auditlog.Log{Dir: dir}, err
}

// record writes down one decision.
func (e Env) record(z zone.Zone, h *harness, m Mode, event policy.Event, v policy.Verdict, d decision) error {
	l, err := e.log(z)
	if err != nil {
		return fmt.Errorf("the log: %w", err)
	}
	entry := auditlog.Entry{
		Time: e.Now(), Harness: h.name, Tool: clip(event.Call.Tool), Cwd: clip(event.Call.Cwd), Mode: string(m),
		Class: string(v.Class), Code: string(v.Code), Decision: string(d.action), By: decider(m, v, d),
	}
	if d.green {
		entry.Decision = string(actAllow) // also where a harness is told so by silence
	}
	if policy.IsShell(event.Call.Tool) {
		entry.Command = clip(redact.Command(event.Call.Input.Get("command").Text, e.Environ))
	} else {
		for _, key := range []string{"file_path", "notebook_path", "path"} {
			if p := event.Call.Input.Get(key).Text; p != "" {
				entry.Path = clip(redact.Command(p, e.Environ))
				break
			}
		}
	}
	if d.input != nil {
		entry.Rewrite = clip(redact.Command(d.input.Get("command").Text, e.Environ))
	}
	if err := l.Append(entry); err != nil {
		return fmt.Errorf("the log cannot be written: %w", err)
	}
	return nil
}

func decider(m Mode, v policy.Verdict, d decision) string {
	if m == ModeAudit || d.action == actAsk || d.action == actSilent && !d.green {
		return byPrompt
	}
	for _, s := range v.Segments {
		if d.green && s.Code == policy.CodeRemembered {
			return byMemory
		}
	}
	return byRule
}

func clip(s string) string {
	if len(s) > maxRecorded {
		s = strings.ToValidUTF8(s[:maxRecorded], "") + "…"
	}
	return s
}
