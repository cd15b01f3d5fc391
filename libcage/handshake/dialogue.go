package handshake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/agent-cage/agent-cage/libcage/cabundle"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

// maxForeign is how much is kept of what something other than cage-init wrote.
const maxForeign = 256

// Point is how far cage-init came.
type Point int

// The points of a start, in order.
const (
	// Silent is a box that has said nothing.
	Silent Point = iota
	// Ready is a box that asked for the frame.
	Ready
	// Started is a box whose streams are the harness's.
	Started
	// ExecFailed is a box that said GO and then could not execute the harness.
	ExecFailed
)

// String names the point.
func (p Point) String() string {
	switch p {
	case Silent:
		return "silent"
	case Ready:
		return "ready"
	case Started:
		return "started"
	case ExecFailed:
		return "exec-failed"
	default:
		return fmt.Sprintf("Point(%d)", int(p))
	}
}

// Outcome is what cage-init said in all.
type Outcome struct {
	Reached Point
	// Fault is why the harness did not start, if cage-init or the form of
	// what arrived said so; nil says nothing about the harness's own end.
	Fault *exitstatus.Fault
}

// Events are called by a Dialogue, synchronously and in the order of the
// stream. A nil function is skipped; the error of one is returned by Write.
type Events struct {
	// Ready sends the frame: see WriteRun. Certificates that the image has
	// are trusted without being in it.
	Ready func(trusted []cabundle.ID) error
	// Progress shows a line to a person.
	Progress func(line string)
	// Go is called before any byte of the harness is passed on.
	Go func() error
}

// Dialogue is the launcher's half of the conversation: a Writer that is fed
// with what the box writes to its standard output, in pieces of any size, acts
// on what cage-init says, and passes the harness's bytes on. It is not safe
// for concurrent use.
type Dialogue struct {
	out    io.Writer
	events Events
	// failMark starts the message that execve failed.
	failMark []byte
	stage    stage
	held     []byte
	foreign  bool
	outcome  Outcome
}

// stage is what the next byte can be.
type stage int

const (
	speaking stage = iota // a message of cage-init
	probing               // a failed exec, or the harness's first bytes
	passing               // the harness's bytes
	finished              // nothing that matters
)

// NewDialogue returns a Dialogue that passes the harness's bytes to out. The
// nonce is that of the Run that Events.Ready sends.
func NewDialogue(nonce string, out io.Writer, events Events) *Dialogue {
	return &Dialogue{
		out:      out,
		events:   events,
		failMark: fmt.Appendf(nil, "%s%c%s", magic, kindExecFailed, nonce),
	}
}

// Write takes the next bytes of the box. The error is that of an event, that
// of out, or a *exitstatus.Fault when the bytes are not cage-init's; the box
// is of no further use after the latter.
func (d *Dialogue) Write(p []byte) (int, error) {
	if d.stage == passing && len(d.held) == 0 {
		return d.out.Write(p)
	}
	d.held = append(d.held, p...)
	if err := d.advance(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close is called at the end of the box's output: bytes that were held back
// are passed on, and a conversation that broke off becomes a fault.
func (d *Dialogue) Close() error {
	defer func() { d.held, d.stage = nil, finished }()
	switch d.stage {
	case speaking:
		if len(d.held) > 0 && d.outcome.Fault == nil {
			d.outcome.Fault = foreignFault(d.held)
		}
	case probing:
		if bytes.HasPrefix(d.held, d.failMark) {
			d.outcome.Reached = ExecFailed
			d.outcome.Fault = exitstatus.Faultf(exitstatus.HarnessNotExecutable,
				"the harness could not be executed, and the reason was cut off")
			return nil
		}
		return d.flush()
	case passing:
		return d.flush()
	}
	return nil
}

// Outcome returns what cage-init has said so far. It is complete after Close.
func (d *Dialogue) Outcome() Outcome { return d.outcome }

// advance consumes as much of the held bytes as can be decided.
func (d *Dialogue) advance() error {
	for {
		before, stage := len(d.held), d.stage
		var err error
		switch d.stage {
		case speaking:
			err = d.listen()
		case probing:
			d.probe()
		case passing:
			return d.flush()
		case finished:
			return d.drain()
		}
		if err != nil {
			return err
		}
		if len(d.held) == before && d.stage == stage {
			return nil
		}
	}
}

// listen takes one message of cage-init, if it is all there.
func (d *Dialogue) listen() error {
	if !samePrefix(d.held, []byte(magic)) {
		return d.reject()
	}
	head := len(magic) + 1
	if len(d.held) < head+sizeDigits {
		return nil
	}
	size, ok := parseSize(d.held[head : head+sizeDigits])
	if !ok {
		return d.reject()
	}
	if len(d.held) < head+sizeDigits+size {
		return nil
	}
	k := kind(d.held[len(magic)])
	if !d.expects(k) {
		return d.reject()
	}
	whole := d.held
	d.held = whole[head+sizeDigits+size:]
	known, err := d.hear(k, whole[head+sizeDigits:head+sizeDigits+size])
	if !known {
		d.held = whole
		return d.reject()
	}
	return err
}

// expects reports whether a message can come at this point.
func (d *Dialogue) expects(k kind) bool {
	if d.outcome.Reached == Silent {
		return k == kindReady || k == kindFault
	}
	return k == kindProgress || k == kindFault || k == kindGo
}

// hear acts on one message; known is false if its payload makes no sense.
func (d *Dialogue) hear(k kind, payload []byte) (known bool, err error) {
	switch k {
	case kindReady:
		var note readyNote
		if json.Unmarshal(payload, &note) != nil {
			return false, nil
		}
		return true, d.ready(note)
	case kindProgress:
		var line text
		if json.Unmarshal(payload, &line) != nil {
			return false, nil
		}
		if d.events.Progress != nil {
			d.events.Progress(string(line))
		}
		return true, nil
	case kindFault:
		var note faultNote
		if json.Unmarshal(payload, &note) != nil {
			return false, nil
		}
		d.outcome.Fault, d.stage = note.fault(), finished
		return true, nil
	default: // kindGo, as expects has seen to
		d.outcome.Reached, d.stage = Started, probing
		if d.events.Go == nil {
			return true, nil
		}
		return true, d.events.Go()
	}
}

func (d *Dialogue) ready(note readyNote) error {
	if note.Version != Version {
		d.stage = finished
		d.outcome.Fault = exitstatus.Faultf(exitstatus.EngineStartFailed,
			"cage-init in the image speaks version %d of the handshake and this launcher version %d: rebuild the image",
			note.Version, Version)
		return d.outcome.Fault
	}
	d.outcome.Reached = Ready
	if d.events.Ready == nil {
		return nil
	}
	return d.events.Ready(note.trusted())
}

// probe decides whether the first bytes after GO are a failed exec. They are
// kept only as long as they can still become one.
func (d *Dialogue) probe() {
	if !samePrefix(d.held, d.failMark) {
		d.stage = passing
		return
	}
	head := len(d.failMark)
	if len(d.held) < head+sizeDigits {
		return
	}
	size, ok := parseSize(d.held[head : head+sizeDigits])
	if ok && len(d.held) < head+sizeDigits+size {
		return
	}
	note := faultNote{Kind: exitstatus.HarnessNotExecutable, Detail: "the harness could not be executed"}
	if ok {
		// The nonce has proved the sender: the default stands if the rest is odd.
		var told faultNote
		if json.Unmarshal(d.held[head+sizeDigits:head+sizeDigits+size], &told) == nil {
			note = told
		}
	}
	d.outcome = Outcome{Reached: ExecFailed, Fault: note.fault()}
	d.stage = finished
}

// reject notes that something other than cage-init writes. More of it may
// come, up to maxForeign bytes, to say what it is.
func (d *Dialogue) reject() error {
	d.stage, d.foreign = finished, true
	return d.drain()
}

// drain drops bytes that nobody reads, but for the first foreign ones.
func (d *Dialogue) drain() error {
	if !d.foreign {
		d.held = nil
		return nil
	}
	d.held = d.held[:min(len(d.held), maxForeign)]
	d.outcome.Fault = foreignFault(d.held)
	return d.outcome.Fault
}

func foreignFault(b []byte) *exitstatus.Fault {
	return exitstatus.Faultf(exitstatus.EngineStartFailed,
		"the image's entry point is not cage-init, or something wrote before it: %q", b[:min(len(b), maxForeign)])
}

func (d *Dialogue) flush() error {
	if len(d.held) == 0 {
		return nil
	}
	held := d.held
	d.held = nil
	_, err := d.out.Write(held)
	return err
}

// samePrefix reports whether a and b agree as far as the shorter goes.
func samePrefix(a, b []byte) bool {
	n := min(len(a), len(b))
	return bytes.Equal(a[:n], b[:n])
}
