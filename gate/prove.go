package gate

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/agent-cage/agent-cage/gate/auditlog"
	"github.com/agent-cage/agent-cage/policy/strictjson"
	"github.com/agent-cage/agent-cage/zone"
)

// proveWithin bounds one run of the registered command.
const proveWithin = 30 * time.Second

// prove runs the registered command as the harness does: with a real event it
// has to answer and to log it, with a broken one and without its program it
// has to block.
func (e Env) prove(t target, z zone.Zone, command string) error {
	conf, _, err := e.load()
	if err != nil {
		return err
	}
	marker := "cage-gate-install-" + strings.ToLower(rand.Text())
	event := hookEvent(e.Dir, marker)
	status, stdout, stderr := e.shell(command, event)
	switch {
	case status != 0:
		return fmt.Errorf("registered, but the hook ends with status %d: %s", status, stderr)
	case conf.Mode == ModeOff:
		_, err := fmt.Fprintln(e.Stdout, "the hook answers; the mode is off, so it gates nothing")
		return err
	case conf.Mode != ModeAudit && !strings.Contains(stdout, "permissionDecision"):
		return fmt.Errorf("registered, but the hook did not answer: %q", stdout)
	}
	if err := e.wasLogged(z, marker); err != nil {
		return err
	}
	missing := strings.Replace(command, "/cage-gate'", "/cage-gate-that-is-not-there'", 1)
	for what, c := range map[string][2]string{
		"a truncated event": {command, event[:len(event)/2]},
		"no event":          {command, ""},
		"a missing program": {missing, event},
	} {
		status, _, stderr := e.shell(c[0], c[1])
		if status != StatusBlocked || strings.TrimSpace(stderr) == "" {
			return fmt.Errorf("registered, but with %s the hook ends with status %d instead of blocking", what, status)
		}
	}
	_, err = fmt.Fprintf(e.Stdout, "proven: the hook of %s answers a call (mode %s) and blocks when it is broken\n", t.harness, conf.Mode)
	return err
}

// hookEvent is what a harness sends before a shell command.
func hookEvent(dir, command string) string {
	return string(strictjson.Append(nil, strictjson.Value{Kind: strictjson.Object, Members: []strictjson.Member{
		text("session_id", "install"), text("cwd", dir), text("hook_event_name", "PreToolUse"),
		text("permission_mode", "default"), text("tool_name", "Bash"), text("tool_use_id", "install"),
		{Key: "tool_input", Value: strictjson.Value{Kind: strictjson.Object, Members: []strictjson.Member{text("command", command)}}},
	}}))
}

func text(key, s string) strictjson.Member {
	return strictjson.Member{Key: key, Value: strictjson.Value{Kind: strictjson.String, Text: s}}
}

func (e Env) wasLogged(z zone.Zone, marker string) error {
	l, err := e.log(z)
	if err != nil {
		return err
	}
	found := false
	err = l.Read(func(line auditlog.Line) error {
		found = found || line.Entry.Command == marker
		return nil
	})
	if err == nil && !found {
		err = errors.New("registered, but the hook did not log the call")
	}
	return err
}

// shell runs a registered command as harnesses do.
func (e Env) shell(command, stdin string) (status int, stdout, stderr string) {
	ctx, cancel := context.WithTimeout(context.Background(), proveWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	cmd.Env, cmd.Dir = e.Environ, e.Dir
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), out.String(), errs.String()
	}
	if err != nil {
		return -1, "", err.Error()
	}
	return 0, out.String(), errs.String()
}
