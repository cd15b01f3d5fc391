package policy

import (
	"strings"
	"testing"
)

// Batteries of commands that must be gated. The first field names the rule
// that gates the command, and behind + the further rules that would: with the
// first one gone the case fails, with all of them gone the command is green.
// A trailing ! marks what is no rule that could be taken away.
var gatedBatteries = []string{
	"structure", "expansion", "words", "redirects", "assignments", "wrappers", "git", "zsh", "names",
}

func TestGatedCommands(t *testing.T) {
	for _, name := range gatedBatteries {
		for _, l := range battery(t, name) {
			codes, command := rulesOf(l.field[0]), expand(l.field[1])
			v := New(world()).Classify(Command(command, repo))
			if v.Class != Gated || v.Code != codes[0] {
				t.Errorf("%s: %q is %s (%s), want gated (%s)", l.where, command, v.Class, v.Code, codes[0])
			}
			if v.Reason == "" || strings.Contains(v.Reason, "\n") {
				t.Errorf("%s: the reason is not one line: %q", l.where, v.Reason)
			}
			if v.At.Start > v.At.End || v.At.End > len(command) {
				t.Errorf("%s: the place %v is not in the command", l.where, v.At)
			}
			if v.Rewrite != "" {
				t.Errorf("%s: a gated command has a rewrite", l.where)
			}
		}
	}
}

// The walls have to be what stops the attack: each case is run with its rule
// taken away.
func TestEveryRuleIsNeeded(t *testing.T) {
	flipped := map[Code]bool{}
	for _, name := range gatedBatteries {
		for _, l := range battery(t, name) {
			if strings.HasSuffix(l.field[0], "!") {
				continue
			}
			codes, command := rulesOf(l.field[0]), expand(l.field[1])
			if v := without(world(), codes[0]).Classify(Command(command, repo)); v.Class == Gated && v.Code == codes[0] {
				t.Errorf("%s: %q is still gated by %s without that rule", l.where, command, codes[0])
			}
			v := without(world(), codes...).Classify(Command(command, repo))
			if v.Class == Gated {
				t.Errorf("%s: %q is gated by %s without %v", l.where, command, v.Code, codes)
			} else {
				// With the others gone, the last one alone had stopped it.
				flipped[codes[len(codes)-1]] = true
			}
		}
	}
	for _, code := range []Code{
		CodeByte, CodeLength, CodeDisagree, CodeOperator, CodeBackground, CodeNegated, CodeCompound, CodeAssignment,
		CodeRedirect, CodeComment, CodeExpansion, CodeBackslash, CodeGlob, CodeBrace, CodeHistory, CodeTilde,
		CodeEquals, CodeCharacter, CodeSegments, CodePlain, CodeSboxFlag, CodeSboxNoCommand, CodeSboxOther,
		CodeHelperWord, CodeGitPath, CodeGitGlobal, CodeGitDir, CodeGitSubcommand, CodeGitFlag, CodeGitValue,
		CodeGitForm, CodeGitEditor, CodeGitOperand, CodeGitBare, CodeGitNoHelper,
	} {
		if !flipped[code] {
			t.Errorf("no case is stopped by %s alone", code)
		}
	}
}

func rulesOf(field string) []Code {
	var codes []Code
	for _, s := range strings.Split(strings.TrimSuffix(field, "!"), "+") {
		codes = append(codes, Code(s))
	}
	return codes
}

// expand writes long commands out: {N*text} is the text N times.
func expand(s string) string {
	for {
		start := strings.Index(s, "{{")
		end := strings.Index(s, "}}")
		if start < 0 || end < start {
			return s
		}
		count, text, _ := strings.Cut(s[start+2:end], "*")
		n := 0
		for _, d := range count {
			n = n*10 + int(d-'0')
		}
		s = s[:start] + strings.Repeat(text, n) + s[end+2:]
	}
}

func TestGreenCommands(t *testing.T) {
	for _, l := range battery(t, "green") {
		command := l.field[0]
		v := New(world()).Classify(Command(command, repo))
		if v.Class != Green {
			t.Errorf("%s: %q is gated (%s): %s", l.where, command, v.Code, v.Reason)
			continue
		}
		want := ""
		if len(l.field) > 1 {
			want = l.field[1]
		}
		if v.Rewrite != want {
			t.Errorf("%s: %q\nrewrite %s\nwant    %s", l.where, command, v.Rewrite, want)
		}
	}
}
