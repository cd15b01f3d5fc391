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
// off again if it dies before it does so itself, or while somebody else has the
// terminal.
type Modes struct {
	w io.Writer
	// on are the private modes that were set and not reset, and those of
	// defaultsOn that were reset.
	on map[int]bool
	// keyboards are the flags of the keyboard protocols that were pushed and not
	// popped. The alternate screen has a stack of its own.
	keyboards map[bool][]string
	// otherKeys is the level of xterm's extended form of keys; 0 is off.
	otherKeys int
	// sequence holds a control sequence whose end has not come yet.
	sequence []byte
}

// longest bounds the control sequences that are looked at, in bytes.
const longest = 64

// tracked are the private modes that would be in the way of the next program,
// in the order in which they are switched back.
var tracked = []int{
	1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, // mouse and focus reports
	2004,      // bracketed paste
	2026,      // output held back
	2031,      // colour scheme reports
	1, keypad, // cursor keys and keypad as for applications
	47, 1047, 1049, // alternate screen
	7, 25, // wrapping and the cursor, on by default
}

var defaultsOn = []int{7, 25}

// keypad is the mode that programs switch with ESC = and ESC >, too.
const keypad = 66

// NewModes returns Modes that write to w.
func NewModes(w io.Writer) *Modes {
	return &Modes{w: w, on: map[int]bool{}, keyboards: map[bool][]string{}}
}

// Write passes p on as it is.
func (m *Modes) Write(p []byte) (int, error) {
	m.scan(p)
	return m.w.Write(p)
}

// scan looks for control sequences, which begin with ESC [ and end with a byte
// from @ on, and for the two of the keypad.
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
		case len(m.sequence) == 1 && (c == '=' || c == '>'):
			m.private(keypad, c == '=')
			m.sequence = m.sequence[:0]
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
		screen := m.alternate()
		m.keyboards[screen] = append(m.keyboards[screen], strconv.Itoa(number(rest, 0)))
	case kind == '<' && final == 'u':
		stack := m.keyboards[m.alternate()]
		m.keyboards[m.alternate()] = stack[:max(0, len(stack)-number(rest, 1))]
	case kind == '>' && final == 'm' && (bytes.Equal(rest, []byte("4")) || bytes.HasPrefix(rest, []byte("4;"))):
		_, level, _ := bytes.Cut(rest, []byte(";"))
		m.otherKeys = number(level, 0)
	}
}

// alternate reports whether the alternate screen is shown.
func (m *Modes) alternate() bool { return m.on[47] || m.on[1047] || m.on[1049] }

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

// Reset switches off what the program has left on, and forgets it. If it left
// nothing, nothing is written.
func (m *Modes) Reset() error {
	err := m.Off()
	clear(m.on)
	clear(m.keyboards)
	m.otherKeys = 0
	return err
}

// Off switches off what the program has switched on until On.
func (m *Modes) Off() error {
	var b bytes.Buffer
	alternate := m.alternate()
	if alternate {
		pop(&b, m.keyboards[true])
	}
	for _, mode := range tracked {
		if m.on[mode] {
			switched(&b, mode, false)
		}
	}
	pop(&b, m.keyboards[false])
	if m.otherKeys > 0 {
		b.WriteString("\x1b[>4m")
	}
	return m.control(b.Bytes())
}

// On switches on again what Off has switched off.
func (m *Modes) On() error {
	var b bytes.Buffer
	if m.otherKeys > 0 {
		fmt.Fprintf(&b, "\x1b[>4;%dm", m.otherKeys)
	}
	push(&b, m.keyboards[false])
	for _, mode := range slices.Backward(tracked) {
		if m.on[mode] {
			switched(&b, mode, true)
		}
	}
	if m.alternate() {
		push(&b, m.keyboards[true])
	}
	return m.control(b.Bytes())
}

// switched writes what puts a mode into the program's state, or back.
func switched(b *bytes.Buffer, mode int, programs bool) {
	final := 'l'
	if programs != slices.Contains(defaultsOn, mode) {
		final = 'h'
	}
	fmt.Fprintf(b, "\x1b[?%d%c", mode, final)
}

func pop(b *bytes.Buffer, keyboards []string) {
	if len(keyboards) > 0 {
		fmt.Fprintf(b, "\x1b[<%du", len(keyboards))
	}
}

func push(b *bytes.Buffer, keyboards []string) {
	for _, flags := range keyboards {
		fmt.Fprintf(b, "\x1b[>%su", flags)
	}
}

// control writes control sequences. One that the program is in the middle of is
// not to swallow them: the terminal drops it at the next ESC.
func (m *Modes) control(sequences []byte) error {
	if len(sequences) == 0 {
		return nil
	}
	_, err := m.w.Write(sequences)
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
