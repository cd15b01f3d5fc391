package gate

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/agent-cage/agent-cage/gate/auditlog"
	"github.com/agent-cage/agent-cage/policy"
	"github.com/agent-cage/agent-cage/zone"
)

// statusFaults is log verify's when the log is not whole.
const statusFaults = 1

// followEvery is how often a followed log is looked at.
const followEvery = 200 * time.Millisecond

const logUsage = `Usage: cage-gate log [FILTER…] [--json] [--follow] [-n N]
       cage-gate log summary [FILTER…] [--json]
       cage-gate log verify

Filters, which all have to hold:
  --since 2h | 2026-01-31 | RFC 3339 time
  --class ungated|green|gated    --decision allow|ask|deny|silent
  --by rule|memory|prompt        --mode MODE      --harness claude|codex
  --code CODE                    --tool TOOL      --project DIR
  --grep TEXT                    in the command, the rewrite or the path
`

// logOptions is a parsed command line of cage-gate log.
type logOptions struct {
	form         string // summary, verify, or empty
	json, follow bool
	most         int
	want         auditlog.Entry // fields that have to be equal, where set
	since        time.Time
	project      string
	grep         string
}

func parseLog(args []string, now time.Time, dir string) (logOptions, error) {
	var o logOptions
	if len(args) > 0 && (args[0] == "summary" || args[0] == "verify") {
		o.form, args = args[0], args[1:]
	}
	f := flag.NewFlagSet("log", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	since := f.String("since", "", "")
	f.BoolVar(&o.json, "json", false, "")
	f.BoolVar(&o.follow, "follow", false, "")
	f.IntVar(&o.most, "n", 0, "")
	f.StringVar(&o.project, "project", "", "")
	f.StringVar(&o.grep, "grep", "", "")
	for name, to := range map[string]*string{
		"class": &o.want.Class, "decision": &o.want.Decision, "by": &o.want.By, "mode": &o.want.Mode,
		"harness": &o.want.Harness, "code": &o.want.Code, "tool": &o.want.Tool,
	} {
		f.StringVar(to, name, "", "")
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("log: unexpected %q", f.Arg(0))
	case o.follow && o.form != "", o.form == "verify" && len(args) > 0:
		return o, errors.New("log: verify takes no flags, and summary cannot follow")
	case o.most < 0:
		return o, errors.New("log: -n is negative")
	}
	if o.project != "" {
		if !path.IsAbs(o.project) {
			o.project = path.Join(dir, o.project)
		}
		o.project = path.Clean(o.project)
	}
	var err error
	o.since, err = parseSince(*since, now)
	return o, err
}

func parseSince(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := parseDuration(s); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly, time.DateTime} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since: %q is neither a duration like 2h or 7d nor a date", s)
}

// parseDuration reads a positive duration, days included.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		d, err = time.ParseDuration(days + "h")
		d *= 24
	}
	if err == nil && d <= 0 {
		err = errors.New("not positive")
	}
	return d, err
}

// matches reports whether an entry passes the filters.
func (o logOptions) matches(e auditlog.Entry) bool {
	for _, f := range [][2]string{
		{o.want.Class, e.Class}, {o.want.Decision, e.Decision}, {o.want.By, e.By}, {o.want.Mode, e.Mode},
		{o.want.Harness, e.Harness}, {o.want.Code, e.Code}, {o.want.Tool, e.Tool},
	} {
		if f[0] != "" && f[0] != f[1] {
			return false
		}
	}
	return !e.Time.Before(o.since) &&
		(o.project == "" || path.IsAbs(e.Cwd) && zone.Within(path.Clean(e.Cwd), o.project)) &&
		(o.grep == "" || strings.Contains(e.Command+"\n"+e.Rewrite+"\n"+e.Path, o.grep))
}

func logCommand(e Env, args []string) int {
	o, err := parseLog(args, e.Now(), e.Dir)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(e.Stdout, logUsage)
		return 0
	}
	if err != nil {
		return e.fail(err)
	}
	conf, z, err := e.load()
	if err != nil {
		return e.fail(err)
	}
	l, err := e.log(z)
	if err != nil {
		return e.fail(err)
	}
	switch o.form {
	case "verify":
		return e.verifyLog(l)
	case "summary":
		err = e.summarize(l, o, func(cwd string) *policy.Classifier { return policy.New(e.world(conf, z, cwd)) })
	default:
		err = e.showLog(l, o)
	}
	if err != nil {
		return e.fail(err)
	}
	return 0
}

func (e Env) verifyLog(l auditlog.Log) int {
	lines, faults, err := l.Verify()
	if err != nil {
		return e.fail(err)
	}
	out := bufio.NewWriter(e.Stdout)
	for _, f := range faults {
		fmt.Fprintln(out, oneLine(f.String()))
	}
	fmt.Fprintf(out, "%d lines, %d faults\n", lines, len(faults))
	if err := out.Flush(); err != nil {
		return e.fail(err)
	}
	if len(faults) > 0 {
		return statusFaults
	}
	return 0
}

// showLog prints the lines that pass the filters, the last ones of them where
// a number is given.
func (e Env) showLog(l auditlog.Log, o logOptions) error {
	out := bufio.NewWriter(e.Stdout)
	var kept []string
	show := func(line auditlog.Line) error {
		if line.Err != nil || !o.matches(line.Entry) {
			return nil
		}
		text := humanLine(line.Entry)
		if o.json {
			text = string(line.Raw)
		}
		if o.most == 0 {
			_, err := fmt.Fprintln(out, text)
			return err
		}
		if kept = append(kept, text); len(kept) > 2*o.most {
			kept = append(kept[:0], kept[len(kept)-o.most:]...)
		}
		return nil
	}
	if err := l.Read(show); err != nil {
		return err
	}
	for _, text := range kept[max(0, len(kept)-o.most):] {
		fmt.Fprintln(out, text)
	}
	if err := out.Flush(); err != nil || !o.follow {
		return err
	}
	o.most = 0
	ctx := e.Context
	if ctx == nil {
		ctx = context.Background()
	}
	return l.Follow(ctx, followEvery, func(line auditlog.Line) error {
		if err := show(line); err != nil {
			return err
		}
		return out.Flush()
	})
}

func humanLine(e auditlog.Entry) string {
	what := e.Command
	if what == "" {
		what = strings.TrimSpace(e.Tool + " " + e.Path)
	}
	s := fmt.Sprintf("%s  %-6s %-7s %-16s %-6s %s", e.Time.Local().Format(time.DateTime), e.Decision, e.Class, e.Code, e.By, oneLine(what))
	if e.Rewrite != "" {
		s += "  =>  " + oneLine(e.Rewrite)
	}
	return s
}
