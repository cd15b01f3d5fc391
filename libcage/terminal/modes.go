package terminal

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Modes passes a program's output on to a terminal and remembers which of the
// terminal's modes the program has switched on, so that they can be switched
// off again if it dies before it does so itself.
type Modes struct {
	w io.Writer
	// on are the private modes that were set and not reset, and those of
	// defaultsOn that were reset.
	on map[int]bool
	// keyboards counts the keyboard protocols that were pushed and not popped.
	keyboards int
	// otherKeys says that keys are reported in xterm's extended form.
	otherKeys bool
	// sequence holds a control sequence whose end has not come yet.
	sequence []byte
}

// longest bounds the control sequences that are looked at, in bytes.
const longest = 64

// tracked are the private modes that would be in the way of the next program,
// in the order in which they are switched back.
var tracked = []int{
	1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, // mouse and focus reports
	2004,  // bracketed paste
	2026,  // output held back
	2031,  // colour scheme reports
	1, 66, // cursor keys and keypad as for applications
	47, 1047, 1049, // alternate screen
	7, 25, // wrapping and the cursor, on by default
}

var defaultsOn = []int{7, 25}

// NewModes returns Modes that write to w.
func NewModes(w io.Writer) *Modes { return &Modes{w: w, on: map[int]bool{}} }

// Write passes p on as it is.
func (m *Modes) Write(p []byte) (int, error) {
	m.scan(p)
	return m.w.Write(p)
}

// scan looks for control sequences, which begin with ESC [ and end with a byte
// from @ on.
func (m *Modes) scan(p []byte) {
	for len(p) > 0 {
		if len(m.sequence) == 0 {
			i := bytes.IndexByte(p, '\x1b')
			if i < 0 {
				return
			}
			m.sequence, p = append(m.sequence, '\x1b'), p[i+1:]
			continue
		}
		c := p[0]
		p = p[1:]
		switch {
		case c == '\x1b':
			m.sequence = append(m.sequence[:0], c)
		case len(m.sequence) == 1 && c != '[', len(m.sequence) == longest, len(m.sequence) > 1 && c < ' ':
			m.sequence = m.sequence[:0]
		case len(m.sequence) > 1 && c >= '@':
			m.note(m.sequence[2:], c)
			m.sequence = m.sequence[:0]
		default:
			m.sequence = append(m.sequence, c)
		}
	}
}

// note takes in one control sequence: its parameters and its last byte.
func (m *Modes) note(params []byte, final byte) {
	if len(params) == 0 {
		return
	}
	kind, rest := params[0], params[1:]
	switch {
	case kind == '?' && (final == 'h' || final == 'l'):
		for field := range bytes.SplitSeq(rest, []byte(";")) {
			m.private(number(field, 0), final == 'h')
		}
	case kind == '>' && final == 'u':
		m.keyboards++
	case kind == '<' && final == 'u':
		m.keyboards = max(0, m.keyboards-number(rest, 1))
	case kind == '>' && final == 'm' && (bytes.Equal(rest, []byte("4")) || bytes.HasPrefix(rest, []byte("4;"))):
		_, level, _ := bytes.Cut(rest, []byte(";"))
		m.otherKeys = number(level, 0) > 0
	}
}

func (m *Modes) private(mode int, set bool) {
	if !slices.Contains(tracked, mode) {
		return
	}
	if set == slices.Contains(defaultsOn, mode) {
		delete(m.on, mode)
		return
	}
	m.on[mode] = true
}

// Reset switches off what the program has left on. If it left nothing, nothing
// is written.
func (m *Modes) Reset() error {
	var b bytes.Buffer
	for _, mode := range tracked {
		if !m.on[mode] {
			continue
		}
		final := 'l'
		if slices.Contains(defaultsOn, mode) {
			final = 'h'
		}
		fmt.Fprintf(&b, "\x1b[?%d%c", mode, final)
	}
	if m.keyboards > 0 {
		fmt.Fprintf(&b, "\x1b[<%du", m.keyboards)
	}
	if m.otherKeys {
		b.WriteString("\x1b[>4m")
	}
	clear(m.on)
	m.keyboards, m.otherKeys = 0, false
	if b.Len() == 0 {
		return nil
	}
	_, err := m.w.Write(b.Bytes())
	return err
}

// number reads a parameter; an empty or odd one is the default.
func number(field []byte, otherwise int) int {
	n, err := strconv.Atoi(string(field))
	if err != nil {
		return otherwise
	}
	return n
}
