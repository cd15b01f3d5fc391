package handshake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/witness"
)

// MaxRun is the largest frame that is written or read, in bytes of JSON.
const MaxRun = 64 << 20

// lenDigits is the width of the hexadecimal length in front of a frame.
const lenDigits = 8

// ErrTooLarge is the error of a run whose frame would exceed MaxRun.
var ErrTooLarge = errors.New("the run's frame is larger than 64 MiB")

// FrameError is the error of bytes that are not a frame.
type FrameError struct {
	Reason string
	// Err is the cause, if there was one.
	Err error
}

// Error says what is wrong with the frame.
func (e *FrameError) Error() string {
	if e.Err == nil {
		return "handshake frame: " + e.Reason
	}
	return "handshake frame: " + e.Reason + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *FrameError) Unwrap() error { return e.Err }

// Run is everything of one run that cage-init is told. It travels over the
// streams and is in no argument, image, label or container configuration, so
// it may hold secrets.
type Run struct {
	// Nonce marks the message that execve failed. 32 hexadecimal digits.
	Nonce string
	// Plan is the box's copy of the plan.
	Plan plan.Plan
	// Argv is the harness's command; the program is looked up on the PATH of
	// Env. Any bytes but NUL.
	Argv []string
	// Env is added to the image's environment and wins over it, NAME=value.
	// Any bytes but NUL.
	Env []string
	// Dir is the directory that the harness starts in.
	Dir string
	// Files are written before the harness starts, in this order.
	Files []File
	// CABundle are PEM certificates to be trusted in the box besides those
	// of the image.
	CABundle string
	// Size is the terminal's size; nil leaves it as it is.
	Size *Size
	// Witnesses are of the directories that must be the launcher's own.
	Witnesses []witness.Witness
	// Trace asks for a progress message with the time of each phase.
	Trace bool
}

// Owner says whose a File is.
type Owner string

// The owners a File can have.
const (
	Root    Owner = "root"
	Harness Owner = "harness"
)

// File is a file that cage-init writes into the box: below /run/agent-cage,
// which is memory and the place for secrets, or below the harness's home,
// which is the container's own layer and where only Harness can be its owner.
type File struct {
	Path string
	// Mode are the permission bits.
	Mode    uint32
	Owner   Owner
	Content string
}

// Size is a terminal's size in characters.
type Size struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// wireRun is Run as JSON. Fields that may hold any bytes are text.
type wireRun struct {
	Plan     plan.Plan  `json:"plan"`
	Argv     []text     `json:"argv"`
	Env      []text     `json:"env"`
	Dir      text       `json:"dir"`
	Files    []wireFile `json:"files,omitempty"`
	CABundle text       `json:"caBundle,omitempty"`
	Size     *Size      `json:"size,omitempty"`
	Trace    bool       `json:"trace,omitempty"`

	Witnesses []witness.Witness `json:"witnesses,omitempty"`
}

type wireFile struct {
	Path    text   `json:"path"`
	Mode    uint32 `json:"mode"`
	Owner   Owner  `json:"owner"`
	Content text   `json:"content"`
}

// WriteRun writes the frame of r to w in a single Write: the length of the
// JSON as 8 hexadecimal digits, the JSON, the nonce. The error is ErrTooLarge,
// a *FrameError, or w's.
func WriteRun(w io.Writer, r *Run) error {
	if !validNonce(r.Nonce) {
		return &FrameError{Reason: "the nonce is not 32 hexadecimal digits"}
	}
	if r.bytes() > MaxRun { // spares the encoding of what cannot fit
		return ErrTooLarge
	}
	body, err := marshalASCII(r.wire())
	if err != nil {
		return &FrameError{Reason: "encoding", Err: err}
	}
	if len(body) > MaxRun {
		return ErrTooLarge
	}
	frame := make([]byte, 0, lenDigits+len(body)+nonceLen)
	frame = fmt.Appendf(frame, "%0*x", lenDigits, len(body))
	frame = append(frame, body...)
	frame = append(frame, r.Nonce...)
	_, err = w.Write(frame)
	return err
}

// ReadRun reads one frame from r and not a byte more, since what follows it is
// the harness's input. The error is ErrTooLarge, a *FrameError, or r's;
// io.ErrUnexpectedEOF if the stream ends within the frame, io.EOF if it ends
// before it.
func ReadRun(r io.Reader) (*Run, error) {
	var head [lenDigits]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size, err := strconv.ParseUint(string(head[:]), 16, 32)
	if err != nil {
		return nil, &FrameError{Reason: fmt.Sprintf("no length in %q", head[:])}
	}
	if size > MaxRun {
		return nil, ErrTooLarge
	}
	body, err := readExactly(r, int64(size)+nonceLen)
	if err != nil {
		return nil, err
	}
	nonce := string(body[size:])
	if !validNonce(nonce) {
		return nil, &FrameError{Reason: "no nonce at its end"}
	}
	var wire wireRun
	if err := json.Unmarshal(body[:size], &wire); err != nil {
		return nil, &FrameError{Reason: "decoding", Err: err}
	}
	run := wire.run()
	run.Nonce = nonce
	return run, nil
}

// readExactly reads n bytes, and allocates them only as they arrive: the
// length is a claim until then.
func readExactly(r io.Reader, n int64) ([]byte, error) {
	var buf bytes.Buffer
	switch got, err := io.Copy(&buf, io.LimitReader(r, n)); {
	case err != nil:
		return nil, err
	case got < n:
		return nil, io.ErrUnexpectedEOF
	}
	return buf.Bytes(), nil
}

// bytes is a lower bound of the frame's size.
func (r *Run) bytes() int {
	n := len(r.CABundle)
	for _, list := range [][]string{r.Argv, r.Env} {
		for _, s := range list {
			n += len(s)
		}
	}
	for _, f := range r.Files {
		n += len(f.Content)
	}
	return n
}

func (r *Run) wire() *wireRun {
	w := &wireRun{
		Plan: r.Plan, Argv: texts(r.Argv), Env: texts(r.Env), Dir: text(r.Dir),
		CABundle: text(r.CABundle), Size: r.Size, Trace: r.Trace, Witnesses: r.Witnesses,
	}
	for _, f := range r.Files {
		w.Files = append(w.Files, wireFile{
			Path: text(f.Path), Mode: f.Mode, Owner: f.Owner, Content: text(f.Content),
		})
	}
	return w
}

func (w *wireRun) run() *Run {
	r := &Run{
		Plan: w.Plan, Argv: plainStrings(w.Argv), Env: plainStrings(w.Env), Dir: string(w.Dir),
		CABundle: string(w.CABundle), Size: w.Size, Trace: w.Trace, Witnesses: w.Witnesses,
	}
	for _, f := range w.Files {
		r.Files = append(r.Files, File{
			Path: string(f.Path), Mode: f.Mode, Owner: f.Owner, Content: string(f.Content),
		})
	}
	return r
}
