package gate

import (
	"bufio"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-cage/agent-cage/gate/auditlog"
	"github.com/agent-cage/agent-cage/policy"
	"github.com/agent-cage/agent-cage/policy/strictjson"
)

// gatedGroup are calls that were gated for the same reason.
type gatedGroup struct {
	code, program string
	count         int
	example       auditlog.Entry // the last of them
	green         string         // what would have been green
}

// summaryGroups is how many groups a summary shows unless it is told.
const summaryGroups = 20

// summarize prints what was gated most, and for each what would have been
// green.
func (e Env) summarize(l auditlog.Log, o logOptions, classifier func(cwd string) *policy.Classifier) error {
	groups := map[[2]string]*gatedGroup{}
	counts := map[string]int{}
	total := 0
	err := l.Read(func(line auditlog.Line) error {
		if line.Err != nil || !o.matches(line.Entry) {
			return nil
		}
		total++
		counts[line.Entry.Class]++
		if line.Entry.Class != string(policy.Gated) {
			return nil
		}
		key := [2]string{line.Entry.Code, programOf(line.Entry)}
		g := groups[key]
		if g == nil {
			g = &gatedGroup{code: key[0], program: key[1]}
			groups[key] = g
		}
		g.count++
		g.example = line.Entry
		return nil
	})
	if err != nil {
		return err
	}
	list := make([]*gatedGroup, 0, len(groups))
	for _, g := range groups {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *gatedGroup) int {
		return cmp.Or(b.count-a.count, cmp.Compare(a.code, b.code), cmp.Compare(a.program, b.program))
	})
	most := o.most
	if most == 0 {
		most = summaryGroups
	}
	list = list[:min(most, len(list))]
	out := bufio.NewWriter(e.Stdout)
	if !o.json {
		fmt.Fprintf(out, "%d calls: %d green, %d gated, %d ungated\n", total, counts["green"], counts["gated"], counts["ungated"])
	}
	for _, g := range list {
		g.green = greenLine(classifier(g.example.Cwd), g.example)
		if o.json {
			fmt.Fprintf(out, "%s\n", strictjson.Append(nil, g.json()))
			continue
		}
		fmt.Fprintf(out, "\n%6d  %s  %s\n        was    %s\n        green  %s\n", g.count, g.code, oneLine(g.program),
			oneLine(cmp.Or(g.example.Command, strings.TrimSpace(g.example.Tool+" "+g.example.Path))), oneLine(g.green))
	}
	return out.Flush()
}

func (g *gatedGroup) json() strictjson.Value {
	str := func(k, s string) strictjson.Member {
		return strictjson.Member{Key: k, Value: strictjson.Value{Kind: strictjson.String, Text: s}}
	}
	return strictjson.Value{Kind: strictjson.Object, Members: []strictjson.Member{
		{Key: "count", Value: strictjson.Value{Kind: strictjson.Number, Text: strconv.Itoa(g.count)}},
		str("code", g.code), str("program", g.program), str("command", g.example.Command),
		str("path", g.example.Path), str("green", g.green),
	}}
}

// programOf names what a call was about: the first word of its command, else
// its tool.
func programOf(e auditlog.Entry) string {
	words := strings.Fields(e.Command)
	if len(words) == 0 {
		return e.Tool
	}
	return path.Base(words[0])
}

// greenLine returns the command that would have been green, asked of the
// classifier itself, else the sentence of the rule.
func greenLine(c *policy.Classifier, e auditlog.Entry) string {
	if e.Command != "" {
		for _, line := range []string{"sbox " + e.Command, "sbox bash -c " + policy.Quote(e.Command)} {
			if c.Classify(policy.Command(line, e.Cwd)).Class == policy.Green {
				return line
			}
		}
	}
	_, sentence, key := policy.Explain(policy.Code(e.Code))
	if key != "" {
		sentence += " The setting is " + key + "."
	}
	return sentence
}
