package handshake

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-cage/agent-cage/libcage/cabundle"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

// Messages of cage-init are magic, kind, [nonce,] length as 4 hexadecimal
// digits, payload. The magic begins with a control character that no program
// writes first, so the harness's first bytes are not held back in practice.
const (
	magic      = "\x01cage-init:"
	sizeDigits = 4
	// maxDetail keeps a payload below what 4 digits can say, escapes included.
	maxDetail = 4 << 10
)

// kind is the letter of a message.
type kind byte

const (
	kindReady      kind = 'R'
	kindProgress   kind = 'P'
	kindFault      kind = 'F'
	kindGo         kind = 'G'
	kindExecFailed kind = 'X'
)

// readyNote is the payload of ready.
type readyNote struct {
	Version int `json:"version"`
	// Trusted are the ids of certificates, one behind the other.
	Trusted []byte `json:"trusted,omitempty"`
}

// maxTrusted is how many certificates are told of: more would not fit.
const maxTrusted = 1024

func (n readyNote) trusted() []cabundle.ID {
	var ids []cabundle.ID
	for id := range slices.Chunk(n.Trusted, len(cabundle.ID{})) {
		if len(id) == len(cabundle.ID{}) {
			ids = append(ids, cabundle.ID(id))
		}
	}
	return ids
}

// faultNote is the payload of a fault and of a failed exec.
type faultNote struct {
	Kind   exitstatus.Kind `json:"kind"`
	Detail text            `json:"detail"`
}

func (n faultNote) fault() *exitstatus.Fault {
	return &exitstatus.Fault{Kind: n.Kind, Detail: string(n.Detail)}
}

// Box is cage-init's half of the conversation.
type Box struct{ w io.Writer }

// NewBox returns a Box that speaks on w, the box's standard output. Each
// message is a single Write.
func NewBox(w io.Writer) *Box { return &Box{w: w} }

// Ready says that the frame can be sent, and which certificates the image has:
// those need not be in it.
func (b *Box) Ready(trusted []cabundle.ID) error {
	note := readyNote{Version: Version}
	for _, id := range trusted[:min(len(trusted), maxTrusted)] {
		note.Trusted = append(note.Trusted, id[:]...)
	}
	return b.say(kindReady, "", note)
}

// Progress tells a person what is being waited for.
func (b *Box) Progress(line string) error {
	return b.say(kindProgress, "", text(clip(line)))
}

// Fault ends the conversation: the harness does not start.
func (b *Box) Fault(f *exitstatus.Fault) error {
	return b.say(kindFault, "", noteOf(f))
}

// Go hands the streams over. The caller has restored the terminal, and starts
// the harness afterwards.
func (b *Box) Go() error { return b.say(kindGo, "", nil) }

// ExecFailed says, after Go, that the harness did not start after all.
func (b *Box) ExecFailed(nonce string, f *exitstatus.Fault) error {
	return b.say(kindExecFailed, nonce, noteOf(f))
}

func noteOf(f *exitstatus.Fault) faultNote {
	return faultNote{Kind: f.Kind, Detail: text(clip(f.Error()))}
}

func (b *Box) say(k kind, nonce string, note any) error {
	var payload []byte
	if note != nil {
		var err error
		if payload, err = marshalASCII(note); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(b.w, "%s%c%s%0*x%s", magic, k, nonce, sizeDigits, len(payload), payload)
	return err
}

// clip bounds a text for people and makes it UTF-8.
func clip(s string) string {
	if len(s) > maxDetail {
		s = s[:maxDetail] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}

// parseSize returns the length that digits say; ok is false if they are not
// hexadecimal digits.
func parseSize(digits []byte) (n int, ok bool) {
	u, err := strconv.ParseUint(string(digits), 16, 16)
	return int(u), err == nil
}
