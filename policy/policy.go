// Package policy decides what a coding agent's tool call may do without a
// human: nothing for calls that the harness's own rules govern, silent
// allowance for what stays in the green zone, a question for all the rest.
//
// It is pure. The file system, the environment and the project's settings are
// given to it; the same call in the same world gets the same verdict. What it
// does not know, it gates.
package policy

import (
	"sync"

	"github.com/agent-cage/agent-cage/policy/strictjson"
	"github.com/agent-cage/agent-cage/zone"
)

// Class is what a verdict comes to.
type Class string

const (
	// Ungated calls are left to the harness's own rules.
	Ungated Class = "ungated"
	// Green calls run silently.
	Green Class = "green"
	// Gated calls need a human, or the cage.
	Gated Class = "gated"
)

// Call is one tool call of a harness.
type Call struct {
	Tool  string           // as the harness names it
	Input strictjson.Value // the tool's input, an object
	Cwd   string           // where a shell command would run; absolute
}

// Command is the call that runs a shell command.
func Command(text, cwd string) Call {
	input := strictjson.Value{Kind: strictjson.Object}
	return Call{Tool: "Bash", Input: input.With("command", text), Cwd: cwd}
}

// Verdict is the decision about one call.
type Verdict struct {
	Class    Class
	Code     Code      // stable; what the decision rests on
	Reason   string    // one sentence that tells the agent what would have been green
	At       Span      // the place in the command that decided; zero if none did
	Segments []Segment // the simple commands of a shell command that was understood
	Rewrite  string    // the command to run instead; empty means the call as it is
	Trace    []Step    // the rules in the order they were asked
}

// Span is a place in a text, in bytes; End is exclusive.
type Span struct{ Start, End int }

// Segment is one simple command of a shell command.
type Segment struct {
	At    Span
	Args  []string // as the shell would pass them
	Class Class
	Code  Code
}

// Step is one rule of a trace.
type Step struct {
	Rule   string
	Passed bool
	Detail string
}

// World is everything a decision depends on besides the call.
type World struct {
	Zone zone.Zone
	FS   FS
	UID  uint32 // who runs the harness

	// Env is the environment that shell commands get, as "NAME=value".
	Env []string
	// ProjectEnv is what settings files of the project add to it. If they
	// could not be read, ProjectEnvFault says why.
	ProjectEnv      []string
	ProjectEnvFault string

	// SelfDir is the directory of the running cage-gate; its sbox is the
	// installed one.
	SelfDir string

	// NetworkGit, where a helper for git over the network exists, says
	// whether a human approved the remote for the repository of dir; if not,
	// the sentence says how to. nil means there is no such helper.
	NetworkGit func(dir, remote, verb string) (ok bool, sentence string)

	// Remembered says whether a human allowed this plain command, given as
	// its arguments, for calls in dir; a fault says why nobody knows. nil
	// means that nothing is remembered.
	Remembered func(dir string, args []string) (ok bool, fault string)

	Helpers  []string // vetted executables, absolute paths
	MCPTools []string // MCP tools to allow, exact names
}

// Classifier decides about calls in one world. It is safe for concurrent use.
type Classifier struct {
	w World

	facts     sync.Once // what holds for every shell command of this world
	env       *finding  // why no shell command is green, nil if one may be
	sbox      string    // the installed sbox by its absolute path, "" if none
	sboxReal  string    // the same, resolved
	sboxFound *finding  // why there is none
	nameReal  string    // what the bare name sbox resolves to

	// off lists rules that tests take away to show that each is needed.
	off map[Code]bool
}

// New returns a classifier for the world. What it derives from the world's
// environment and installed programs it looks up once.
func New(w World) *Classifier { return &Classifier{w: w} }

// Classify decides about one call.
func (c *Classifier) Classify(call Call) Verdict {
	t := &trace{steps: make([]Step, 0, 8)}
	v := c.classify(call, t)
	v.Trace = t.steps
	if v.Reason == "" {
		v.Reason = sentence(v.Code, "")
	}
	return v
}

// finding is a rule's objection. A nil one means the rule has none.
type finding struct {
	code   Code
	at     Span
	detail string // what exactly was found; may be empty
	reason string // a sentence of its own; empty means the code's
}

func (f *finding) verdict() Verdict {
	reason := f.reason
	if reason == "" {
		reason = sentence(f.code, f.detail)
	}
	return Verdict{Class: Gated, Code: f.code, Reason: reason, At: f.at}
}

// object returns the finding unless a test took the rule away.
func (c *Classifier) object(code Code, at Span, detail string) *finding {
	if c.off[code] {
		return nil
	}
	return &finding{code: code, at: at, detail: detail}
}

// trace collects the steps of one decision.
type trace struct{ steps []Step }

func (t *trace) pass(rule string) { t.steps = append(t.steps, Step{Rule: rule, Passed: true}) }

func (t *trace) fail(rule string, f *finding) {
	t.steps = append(t.steps, Step{Rule: rule, Detail: string(f.code) + detailOf(f)})
}

// ask records a rule with its outcome and returns the outcome.
func (t *trace) ask(rule string, f *finding) *finding {
	if f == nil {
		t.pass(rule)
	} else {
		t.fail(rule, f)
	}
	return f
}

func detailOf(f *finding) string {
	if f.detail == "" {
		return ""
	}
	return ": " + f.detail
}
