package launch

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

// voice is how a launcher speaks on stderr.
type voice struct {
	w         io.Writer
	label     string
	debugging bool
}

func (v voice) fault(f *exitstatus.Fault) { fmt.Fprintln(v.w, f.Line(v.label)) }

func (v voice) warn(text string) { v.line("WARNING: " + text) }

// progress says what is waited for.
func (v voice) progress(text string) { v.line(text) }

// line prints one line. A path or a message of the engine's in it must not
// look like another one, nor steer the terminal.
func (v voice) line(text string) {
	fmt.Fprintf(v.w, "[%s] %s\n", v.label, strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text))
}

func (v voice) debug(format string, args ...any) {
	if v.debugging {
		v.line("debug: " + fmt.Sprintf(format, args...))
	}
}

// call reports an engine call and its time.
func (v voice) call(name string, d time.Duration, err error) {
	if err != nil {
		v.debug("engine: %s: %v: %v", name, d.Round(time.Microsecond), err)
		return
	}
	v.debug("engine: %s: %v", name, d.Round(time.Microsecond))
}

// lines writes lines to a stream that may be a terminal in raw mode, where a
// newline alone does not go back to the left.
type lines struct {
	w   io.Writer
	raw atomic.Bool
}

func (l *lines) Write(p []byte) (int, error) {
	if !l.raw.Load() {
		return l.w.Write(p)
	}
	if _, err := l.w.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}
