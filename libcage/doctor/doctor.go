// Package doctor looks a machine over for what the boxes need, and says what
// to do about what is missing. It changes nothing.
package doctor

import (
	"context"
	"time"

	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/lifecycle"
)

// Severity is how much a finding matters.
type Severity string

// The severities, from the least on.
const (
	// OK is as it should be.
	OK Severity = "ok"
	// Note is good to know.
	Note Severity = "note"
	// Warning is what some runs will fail by, or be worse for.
	Warning Severity = "warning"
	// Problem is what no box starts with.
	Problem Severity = "problem"
)

// Finding is one result.
type Finding struct {
	// Code names what was looked at. It is stable.
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	// Text says what was found, on one line.
	Text string `json:"text"`
	// Fix says what to do; empty if there is nothing.
	Fix string `json:"fix,omitempty"`
}

// Broken reports whether something is wrong that no box starts with.
func Broken(findings []Finding) bool {
	for _, f := range findings {
		if f.Severity == Problem {
			return true
		}
	}
	return false
}

// Engine is what is asked of an engine.
type Engine interface {
	Endpoint() engine.Endpoint
	Info(ctx context.Context) (engine.Info, error)
	Images(ctx context.Context, refs ...string) (map[string]engine.Image, error)
	lifecycle.Lister
}

// Machine is what is asked of the machine that the doctor runs on.
type Machine interface {
	// Kernel is the kernel's release; empty if it is not Linux.
	Kernel() string
	// UID is the calling user.
	UID() int
	// ReadFile is for files below /proc/sys.
	ReadFile(path string) (string, error)
	// Glob is for device nodes.
	Glob(pattern string) []string
	// OpenDevice opens a device node for reading and writing, and closes it.
	OpenDevice(path string) error
	// DialSocket connects to a socket and hangs up.
	DialSocket(path string) error
	// MakeUserNamespace starts a process in a user namespace of its own.
	MakeUserNamespace() error
	// IdmapMount makes an idmapped mount of a directory, seen by nobody.
	IdmapMount(dir string) error
	// FreeBytes is the space that is left for the caller at a path.
	FreeBytes(path string) (uint64, error)
}

// Harness is what is known of a harness.
type Harness struct {
	// Label is its launcher's name.
	Label string
	// Image is the reference of its image.
	Image string
	// LoginFiles are paths below the home directory, one of which holds the
	// login if there is one.
	LoginFiles []string
	// LoginVars are variables that log in without one.
	LoginVars []string
}

// Patient is what is looked over.
type Patient struct {
	Getenv func(string) string
	// Home is the caller's home directory, Dir the one that a box might be
	// started in.
	Home, Dir string
	// Executable is a program beside which the in-box binaries are looked for.
	Executable string
	Harnesses  []Harness
	// Open returns the engine without asking it anything. The error is that of
	// a setting that names none.
	Open    func(ctx context.Context) (Engine, error)
	Machine Machine
	// Host says whose boxes are orphans; nil if it is not known, with HostErr.
	Host    *lifecycle.Host
	HostErr error
	Now     func() time.Time
}

// patience is how long the engine is waited for.
const patience = 15 * time.Second

// Examine looks a machine over. Findings come in the order in which a person
// would mend things.
func Examine(ctx context.Context, p *Patient) []Finding {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	e := &examination{Patient: p, ctx: ctx}
	e.lookAtEngine()
	e.lookAtKernel()
	e.lookAtDevices()
	e.lookAtDisk()
	e.lookAtNetwork()
	e.lookAtBinaries()
	e.lookAtImages()
	e.lookAtLogins()
	e.lookForOrphans()
	return e.findings
}

// examination is one in progress.
type examination struct {
	*Patient
	ctx      context.Context
	findings []Finding
	// at is where the engine is; nil if no setting says so.
	at *engine.Endpoint
	// engine and info are nil until the engine has answered.
	engine Engine
	info   *engine.Info
}

func (e *examination) find(code string, severity Severity, text, fix string) {
	e.findings = append(e.findings, Finding{Code: code, Severity: severity, Text: text, Fix: fix})
}

// notAsked finds nothing: a code is there also where its answer is the engine's
// to give.
func (e *examination) notAsked(codes ...string) {
	for _, code := range codes {
		e.find(code, Note, "not looked at: the engine does not answer", "mend the engine first, then look again")
	}
}

// sharesKernel reports whether the engine runs on this machine's kernel, so
// that what is seen here is what a box gets. Of an engine that does not answer
// it is assumed, where there is such a kernel: the engine could be started here.
func (e *examination) sharesKernel() bool {
	if e.info == nil {
		return e.Machine.Kernel() != "" && (e.at == nil || e.at.Local())
	}
	return e.engine.Endpoint().Local() && e.info.OS == "linux" && e.info.KernelVersion == e.Machine.Kernel()
}
