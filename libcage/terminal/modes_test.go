package terminal

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestModesReset(t *testing.T) {
	tests := []struct{ name, output, want string }{
		{"nothing", "hello\r\n\x1b[31mred\x1b[0m", ""},
		{"left as found", "\x1b[?1049h\x1b[?2004h text \x1b[?2004l\x1b[?1049l", ""},
		{"alternate screen", "\x1b[?1049h", "\x1b[?1049l"},
		{"several in one", "\x1b[?1000;1006;2004h", "\x1b[?1000l\x1b[?1006l\x1b[?2004l"},
		{"hidden cursor", "\x1b[?25l", "\x1b[?25h"},
		{"cursor shown again", "\x1b[?25l\x1b[?25h", ""},
		{"modes of no consequence", "\x1b[?12h\x1b[4h\x1b[?h", ""},
		{"keyboard protocol", "\x1b[>1u\x1b[>5u\x1b[<u", "\x1b[<1u"},
		{"keyboard popped too often", "\x1b[>1u\x1b[<9u", ""},
		{"keyboard protocol of the alternate screen", "\x1b[>1u\x1b[?1049h\x1b[>7u", "\x1b[<1u\x1b[?1049l\x1b[<1u"},
		{"keypad", "\x1b[?1h\x1b=", "\x1b[?1l\x1b[?66l"},
		{"keypad back", "\x1b=\x1b>", ""},
		{"other keys", "\x1b[>4;2m", "\x1b[>4m"},
		{"other keys off again", "\x1b[>4;2m\x1b[>4;0m", ""},
		{"broken off by another", "\x1b[?20\x1b[?2004h", "\x1b[?2004l"},
		{"not a sequence", "\x1b]0;[?1049h\x07", ""},
		{"control character within", "\x1b[?10\n49h", ""},
		{"endless", "\x1b[?" + strings.Repeat("1", 1000) + "h\x1b[?25l", "\x1b[?25h"},
	}
	for _, tt := range tests {
		for size := 1; size <= len(tt.output); size += 1 + size/4 {
			var out bytes.Buffer
			m := NewModes(&out)
			for rest := tt.output; rest != ""; {
				n := min(size, len(rest))
				if _, err := io.WriteString(m, rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if out.String() != tt.output {
				t.Errorf("%s: the output became %q", tt.name, out.String())
			}
			out.Reset()
			if err := errors.Join(m.Reset(), m.Reset()); err != nil {
				t.Fatal(err)
			}
			if out.String() != tt.want {
				t.Errorf("%s, %d at a time: got %q, want %q", tt.name, size, out.String(), tt.want)
			}
		}
	}
}

func TestModesOffAndOn(t *testing.T) {
	tests := []struct{ output, off, on string }{
		{"text", "", ""},
		{"\x1b[?1049h\x1b[?25l\x1b[?2004h", "\x1b[?2004l\x1b[?1049l\x1b[?25h", "\x1b[?25l\x1b[?1049h\x1b[?2004h"},
		{"\x1b[>5u\x1b[?1049h\x1b[>7u\x1b[>u", "\x1b[<2u\x1b[?1049l\x1b[<1u", "\x1b[>5u\x1b[?1049h\x1b[>7u\x1b[>0u"},
		{"\x1b[>4;2m", "\x1b[>4m", "\x1b[>4;2m"},
	}
	for _, tt := range tests {
		var out bytes.Buffer
		m := NewModes(&out)
		if _, err := io.WriteString(m, tt.output); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for _, step := range []struct {
				do   func() error
				want string
			}{{m.Off, tt.off}, {m.On, tt.on}} {
				out.Reset()
				if err := step.do(); err != nil || out.String() != step.want {
					t.Errorf("%q: got %q, %v, want %q", tt.output, out.String(), err, step.want)
				}
			}
		}
	}
}

func BenchmarkModes(b *testing.B) {
	m := NewModes(io.Discard)
	text := []byte(strings.Repeat("some text \x1b[1mbold\x1b[0m and more of it\r\n", 1000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m.Write(text)
	}
}
