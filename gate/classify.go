package gate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	buildinfo "github.com/agent-cage/agent-cage/internal/version"
	"github.com/agent-cage/agent-cage/policy"
	"github.com/agent-cage/agent-cage/policy/strictjson"
)

func version(e Env) int {
	if _, err := fmt.Fprintln(e.Stdout, "cage-gate", buildinfo.String()); err != nil {
		return e.fail(err)
	}
	return 0
}

// classifier is the one the hook would use for a call in the current directory.
func (e Env) classifier() (*policy.Classifier, error) {
	conf, z, err := e.load()
	if err != nil {
		return nil, err
	}
	return policy.New(e.world(conf, z, e.Dir)), nil
}

// classify prints what shell commands are, one a line.
func classify(e Env, args []string) int {
	asJSON, file, commands := false, "", []string(nil)
	for len(args) > 0 {
		switch {
		case args[0] == "--json" && commands == nil:
			asJSON = true
		case args[0] == "--file" && len(args) > 1 && commands == nil:
			file, args = args[1], args[1:]
		case args[0] == "--" && commands == nil:
			commands = args[1:]
			args = args[:1]
		default:
			commands = append(commands, args[0])
		}
		args = args[1:]
	}
	if len(commands) > 1 || len(commands) == 1 && file != "" {
		return e.fail(errors.New("usage: cage-gate classify [--json] [COMMAND | --file FILE]"))
	}
	c, err := e.classifier()
	if err != nil {
		return e.fail(err)
	}
	out := bufio.NewWriter(e.Stdout)
	if len(commands) == 1 {
		err = printVerdict(out, c, commands[0], e.Dir, asJSON)
	} else {
		err = e.classifyLines(out, c, file, asJSON)
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return e.fail(err)
	}
	return 0
}

// classifyLines reads commands as JSON strings, one a line.
func (e Env) classifyLines(out io.Writer, c *policy.Classifier, file string, asJSON bool) error {
	in := e.Stdin
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, policy.MaxEnvelope)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		v, err := strictjson.Parse(lines.Bytes())
		if err == nil && v.Kind != strictjson.String {
			err = errors.New("not a JSON string")
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := printVerdict(out, c, v.Text, e.Dir, asJSON); err != nil {
			return err
		}
	}
	return lines.Err()
}

func printVerdict(out io.Writer, c *policy.Classifier, command, dir string, asJSON bool) error {
	v := c.Classify(policy.Command(command, dir))
	if asJSON {
		_, err := out.Write(append(strictjson.Append(nil, verdictJSON(command, v)), '\n'))
		return err
	}
	_, err := fmt.Fprintf(out, "%s\t%s\t%s\n", v.Class, v.Code, oneLine(command))
	return err
}

func verdictJSON(command string, v policy.Verdict) strictjson.Value {
	str := func(s string) strictjson.Value { return strictjson.Value{Kind: strictjson.String, Text: s} }
	num := func(n int) strictjson.Value {
		return strictjson.Value{Kind: strictjson.Number, Text: fmt.Sprint(n)}
	}
	span := func(s policy.Span) strictjson.Value {
		return strictjson.Value{Kind: strictjson.Array, Items: []strictjson.Value{num(s.Start), num(s.End)}}
	}
	segs := strictjson.Value{Kind: strictjson.Array}
	for _, s := range v.Segments {
		args := strictjson.Value{Kind: strictjson.Array}
		for _, a := range s.Args {
			args.Items = append(args.Items, str(a))
		}
		segs.Items = append(segs.Items, strictjson.Value{Kind: strictjson.Object, Members: []strictjson.Member{
			{Key: "at", Value: span(s.At)}, {Key: "args", Value: args},
			{Key: "class", Value: str(string(s.Class))}, {Key: "code", Value: str(string(s.Code))},
		}})
	}
	out := strictjson.Value{Kind: strictjson.Object, Members: []strictjson.Member{
		{Key: "command", Value: str(command)},
		{Key: "class", Value: str(string(v.Class))},
		{Key: "code", Value: str(string(v.Code))},
		{Key: "reason", Value: str(v.Reason)},
		{Key: "at", Value: span(v.At)},
		{Key: "segments", Value: segs},
	}}
	if v.Rewrite != "" {
		out.Members = append(out.Members, strictjson.Member{Key: "rewrite", Value: str(v.Rewrite)})
	}
	return out
}

// explain prints which rules were asked about a command, which decided, and
// where.
func explain(e Env, args []string) int {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) != 1 {
		return e.fail(errors.New("usage: cage-gate explain COMMAND"))
	}
	c, err := e.classifier()
	if err != nil {
		return e.fail(err)
	}
	command := args[0]
	v := c.Classify(policy.Command(command, e.Dir))
	section, _, key := policy.Explain(v.Code)
	var b strings.Builder
	for _, s := range v.Trace {
		mark := "ok  "
		if !s.Passed {
			mark = "NO  "
		}
		fmt.Fprintf(&b, "%s%s", mark, s.Rule)
		if s.Detail != "" {
			fmt.Fprintf(&b, "  %s", oneLine(s.Detail))
		}
		b.WriteByte('\n')
	}
	b.WriteString(caret(command, v.At))
	fmt.Fprintf(&b, "class    %s\ncode     %s\nrule     %s\n", v.Class, v.Code, section)
	if key != "" {
		fmt.Fprintf(&b, "setting  %s\n", key)
	}
	if v.Rewrite != "" {
		fmt.Fprintf(&b, "runs     %s\n", oneLine(v.Rewrite))
	}
	fmt.Fprintf(&b, "reason   %s\n", oneLine(v.Reason))
	if _, err := io.WriteString(e.Stdout, b.String()); err != nil {
		return e.fail(err)
	}
	return 0
}

// caret shows the line of the command in which a place lies, and marks it.
func caret(command string, at policy.Span) string {
	if at.End <= at.Start || at.End > len(command) {
		return ""
	}
	start := strings.LastIndexByte(command[:at.Start], '\n') + 1
	end := len(command)
	if i := strings.IndexByte(command[at.Start:], '\n'); i >= 0 {
		end = at.Start + i
	}
	line := command[start:max(end, at.Start)]
	marks := max(1, utf8.RuneCountInString(command[at.Start:min(at.End, max(end, at.Start))]))
	return "\n  " + oneLine(line) + "\n  " + strings.Repeat(" ", utf8.RuneCountInString(command[start:at.Start])) +
		strings.Repeat("^", marks) + "\n\n"
}
