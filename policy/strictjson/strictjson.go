// Package strictjson reads JSON without forgiving anything: no duplicate
// keys, no folding of their case, no trailing data, no invalid UTF-8, no lone
// surrogates, bounded depth. encoding/json accepts all of these in a way that
// lets two readers of one text see two different things.
package strictjson

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth bounds how deeply arrays and objects may nest.
const MaxDepth = 64

// Kind is the type of a Value.
type Kind uint8

// The kinds. The zero Value is Invalid.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// Value is a parsed JSON value.
type Value struct {
	Kind    Kind
	Bool    bool
	Text    string   // a string's content, a number's literal
	Items   []Value  // of an array
	Members []Member // of an object, in the order of the text
}

// Member is one key of an object with its value.
type Member struct {
	Key   string
	Value Value
}

// Get returns the value of exactly this key, the zero Value if there is none.
func (v Value) Get(key string) Value {
	for i := range v.Members {
		if v.Members[i].Key == key {
			return v.Members[i].Value
		}
	}
	return Value{}
}

// With returns a copy of an object in which key has the given string value.
func (v Value) With(key, text string) Value {
	out := Value{Kind: Object, Members: append([]Member(nil), v.Members...)}
	for i := range out.Members {
		if out.Members[i].Key == key {
			out.Members[i].Value = Value{Kind: String, Text: text}
			return out
		}
	}
	out.Members = append(out.Members, Member{key, Value{Kind: String, Text: text}})
	return out
}

// Error says what is wrong with a text and where.
type Error struct {
	Offset int // in bytes
	What   string
}

func (e *Error) Error() string { return fmt.Sprintf("JSON: %s at byte %d", e.What, e.Offset) }

// Parse reads one value, which must be all there is but for blanks.
func Parse(data []byte) (Value, error) {
	p := parser{src: data}
	p.blanks()
	v, err := p.value(0)
	if err != nil {
		return Value{}, err
	}
	p.blanks()
	if p.pos < len(p.src) {
		return Value{}, p.fail("trailing data")
	}
	return v, nil
}

type parser struct {
	src []byte
	pos int
}

func (p *parser) fail(what string) error { return &Error{p.pos, what} }

func (p *parser) blanks() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

func (p *parser) value(depth int) (Value, error) {
	if depth > MaxDepth {
		return Value{}, p.fail("nested too deeply")
	}
	switch c := p.peek(); {
	case p.pos >= len(p.src):
		return Value{}, p.fail("unexpected end")
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		s, err := p.str()
		return Value{Kind: String, Text: s}, err
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	for _, w := range []struct {
		text string
		v    Value
	}{
		{"true", Value{Kind: Bool, Bool: true}},
		{"false", Value{Kind: Bool}},
		{"null", Value{Kind: Null}},
	} {
		if end := p.pos + len(w.text); end <= len(p.src) && string(p.src[p.pos:end]) == w.text {
			p.pos = end
			return w.v, nil
		}
	}
	return Value{}, p.fail("unexpected character")
}

func (p *parser) object(depth int) (Value, error) {
	v := Value{Kind: Object}
	var seen map[string]bool
	p.pos++
	p.blanks()
	if p.peek() == '}' {
		p.pos++
		return v, nil
	}
	for {
		if p.peek() != '"' {
			return v, p.fail("expected a key")
		}
		start := p.pos
		key, err := p.str()
		if err != nil {
			return v, err
		}
		if duplicate(&v, &seen, key) {
			return v, &Error{start, "duplicate key " + strconv.Quote(key)}
		}
		p.blanks()
		if p.peek() != ':' {
			return v, p.fail("expected a colon")
		}
		p.pos++
		p.blanks()
		val, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		v.Members = append(v.Members, Member{key, val})
		p.blanks()
		switch p.peek() {
		case ',':
			p.pos++
			p.blanks()
		case '}':
			p.pos++
			return v, nil
		default:
			return v, p.fail("expected a comma or }")
		}
	}
}

// duplicate reports whether the object has the key, in time that stays linear
// for large objects.
func duplicate(v *Value, seen *map[string]bool, key string) bool {
	if len(v.Members) < 16 {
		return v.Get(key).Kind != Invalid
	}
	if *seen == nil {
		*seen = make(map[string]bool, 64)
		for _, m := range v.Members {
			(*seen)[m.Key] = true
		}
	}
	if (*seen)[key] {
		return true
	}
	(*seen)[key] = true
	return false
}

func (p *parser) array(depth int) (Value, error) {
	v := Value{Kind: Array}
	p.pos++
	p.blanks()
	if p.peek() == ']' {
		p.pos++
		return v, nil
	}
	for {
		item, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		v.Items = append(v.Items, item)
		p.blanks()
		switch p.peek() {
		case ',':
			p.pos++
			p.blanks()
		case ']':
			p.pos++
			return v, nil
		default:
			return v, p.fail("expected a comma or ]")
		}
	}
}

func (p *parser) digits() bool {
	start := p.pos
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.pos++
	}
	return p.pos > start
}

func (p *parser) number() (Value, error) {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	if p.peek() == '0' {
		p.pos++
	} else if !p.digits() {
		return Value{}, p.fail("bad number")
	}
	if p.peek() == '.' {
		p.pos++
		if !p.digits() {
			return Value{}, p.fail("bad number")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if !p.digits() {
			return Value{}, p.fail("bad number")
		}
	}
	return Value{Kind: Number, Text: string(p.src[start:p.pos])}, nil
}

func (p *parser) str() (string, error) {
	p.pos++
	start := p.pos
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == '"':
			raw := p.src[start:p.pos]
			if !utf8.Valid(raw) {
				return "", p.fail("invalid UTF-8")
			}
			p.pos++
			return string(raw), nil
		case c == '\\':
			return p.escaped(start)
		case c < 0x20:
			return "", p.fail("control character in a string")
		}
		p.pos++
	}
	return "", p.fail("unexpected end")
}

// escaped reads the rest of a string that has at least one escape.
func (p *parser) escaped(start int) (string, error) {
	buf := append(make([]byte, 0, 2*(p.pos-start)+64), p.src[start:p.pos]...)
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		switch {
		case c == '"':
			if !utf8.Valid(buf) {
				return "", p.fail("invalid UTF-8")
			}
			p.pos++
			return string(buf), nil
		case c < 0x20:
			return "", p.fail("control character in a string")
		case c != '\\':
			buf = append(buf, c)
			p.pos++
			continue
		}
		p.pos++
		c = p.peek()
		switch c {
		case '"', '\\', '/':
			buf = append(buf, c)
		case 'b':
			buf = append(buf, '\b')
		case 'f':
			buf = append(buf, '\f')
		case 'n':
			buf = append(buf, '\n')
		case 'r':
			buf = append(buf, '\r')
		case 't':
			buf = append(buf, '\t')
		case 'u':
			r, err := p.unicode()
			if err != nil {
				return "", err
			}
			buf = utf8.AppendRune(buf, r)
			continue
		default:
			return "", p.fail("bad escape")
		}
		p.pos++
	}
	return "", p.fail("unexpected end")
}

// unicode reads what follows the backslash of \uXXXX, a surrogate pair included.
func (p *parser) unicode() (rune, error) {
	r, ok := p.hex4()
	if !ok {
		return 0, p.fail("bad escape")
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if p.peek() == '\\' {
		p.pos++
		if low, ok := p.hex4(); ok {
			if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
				return full, nil
			}
		}
	}
	return 0, p.fail("lone surrogate")
}

func (p *parser) hex4() (rune, bool) {
	if p.pos+5 > len(p.src) || p.src[p.pos] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range p.src[p.pos+1 : p.pos+5] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	p.pos += 5
	return r, true
}

// Append writes v as JSON to buf. A number keeps its literal.
func Append(buf []byte, v Value) []byte {
	switch v.Kind {
	case Bool:
		return strconv.AppendBool(buf, v.Bool)
	case Number:
		return append(buf, v.Text...)
	case String:
		return AppendString(buf, v.Text)
	case Array:
		buf = append(buf, '[')
		for i, item := range v.Items {
			if i > 0 {
				buf = append(buf, ',')
			}
			buf = Append(buf, item)
		}
		return append(buf, ']')
	case Object:
		buf = append(buf, '{')
		for i, m := range v.Members {
			if i > 0 {
				buf = append(buf, ',')
			}
			buf = append(AppendString(buf, m.Key), ':')
			buf = Append(buf, m.Value)
		}
		return append(buf, '}')
	}
	return append(buf, "null"...)
}

// AppendString writes s as a JSON string to buf. Invalid UTF-8 becomes U+FFFD.
func AppendString(buf []byte, s string) []byte {
	const hex = "0123456789abcdef"
	buf = append(buf, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			buf = append(buf, '\\', byte(r))
		case r == '\n':
			buf = append(buf, '\\', 'n')
		case r < 0x20 || r == 0x7f:
			buf = append(buf, '\\', 'u', '0', '0', hex[r>>4], hex[r&0xf])
		case r == 0x2028 || r == 0x2029:
			buf = append(buf, '\\', 'u', '2', '0', '2', hex[r&0xf])
		default:
			buf = utf8.AppendRune(buf, r)
		}
	}
	return append(buf, '"')
}
