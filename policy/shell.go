package policy

import (
	"errors"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// maxSegments bounds how many commands one line may join.
const maxSegments = 50

// simple is one simple command that was understood.
type simple struct {
	at        Span
	words     []word
	redirects []word // as written, without blanks
}

// parsers is a parser for each shell whose reading must agree.
type parsers struct{ bash, zsh *syntax.Parser }

// Parsers are costly to make and not safe for concurrent use.
var parserPool = sync.Pool{New: func() any {
	return &parsers{
		bash: syntax.NewParser(syntax.KeepComments(true), syntax.Variant(syntax.LangBash)),
		zsh:  syntax.NewParser(syntax.KeepComments(true), syntax.Variant(syntax.LangZsh)),
	}
}}

// readShell turns a command into simple commands joined by &&, or objects.
// It reads the text three times: as bash, as zsh, and each word by decode;
// all of them have to agree.
func (c *Classifier) readShell(text string, t *trace) ([]simple, *finding) {
	if f := t.ask("byte gate", c.byteGate(text)); f != nil {
		return nil, f
	}
	p := parserPool.Get().(*parsers)
	defer parserPool.Put(p)
	bash, f := c.readAs(p.bash, text)
	if t.ask("parse as bash and match", f) != nil {
		return nil, f
	}
	zsh, f := c.readAs(p.zsh, text)
	if t.ask("parse as zsh and match", f) != nil {
		return nil, f
	}
	if f := t.ask("bash and zsh agree", c.agree(bash, zsh)); f != nil {
		return nil, f
	}
	return bash, nil
}

// readAs parses the text with one shell's parser and matches the tree.
func (c *Classifier) readAs(p *syntax.Parser, text string) ([]simple, *finding) {
	file, err := p.Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, unparsed(err, len(text))
	}
	m := matcher{c: c, text: text}
	if f := m.file(file); f != nil {
		return nil, f
	}
	return m.out, nil
}

func unparsed(err error, size int) *finding {
	f := &finding{code: CodeUnparsed}
	var parse syntax.ParseError
	var lang syntax.LangError
	switch {
	case errors.As(err, &parse):
		f.at.Start, f.detail = int(parse.Pos.Offset()), parse.Text
	case errors.As(err, &lang):
		f.at.Start, f.detail = int(lang.Pos.Offset()), lang.Feature
	}
	f.at.Start = min(f.at.Start, size)
	f.at.End = min(f.at.Start+1, size)
	return f
}

// agree objects unless both readings have the same commands with the same
// words at the same places.
func (c *Classifier) agree(a, b []simple) *finding {
	if len(a) != len(b) {
		return c.object(CodeDisagree, Span{}, "")
	}
	for i := range a {
		if !equalWords(a[i].words, b[i].words) || !equalWords(a[i].redirects, b[i].redirects) {
			return c.object(CodeDisagree, a[i].at, "")
		}
	}
	return nil
}

func equalWords(a, b []word) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// matcher matches a syntax tree against the one form that is understood:
// simple commands of literal words joined by &&. Whatever else a tree can
// hold is an objection, so that a construct nobody thought of is one too.
type matcher struct {
	c    *Classifier
	text string
	out  []simple
	end  int // everything before it is accounted for
}

func span(n syntax.Node) Span { return Span{int(n.Pos().Offset()), int(n.End().Offset())} }

func (m *matcher) file(f *syntax.File) *finding {
	if len(f.Stmts) == 0 && len(f.Last) == 0 {
		return &finding{code: CodeEmpty}
	}
	if len(f.Last) > 0 {
		if o := m.c.object(CodeComment, span(&f.Last[0]), ""); o != nil {
			return o
		}
	}
	for i, s := range f.Stmts {
		if i > 0 {
			if o := m.c.object(CodeOperator, Span{m.end, int(s.Pos().Offset())}, ""); o != nil {
				return o
			}
		}
		if o := m.stmt(s); o != nil {
			return o
		}
	}
	return m.blank(len(m.text))
}

func (m *matcher) stmt(s *syntax.Stmt) *finding {
	at := span(s)
	switch {
	case len(s.Comments) > 0:
		if o := m.c.object(CodeComment, span(&s.Comments[0]), ""); o != nil {
			return o
		}
	case s.Negated:
		if o := m.c.object(CodeNegated, Span{at.Start, at.Start + 1}, ""); o != nil {
			return o
		}
	}
	if s.Background || s.Coprocess || s.Disown {
		if o := m.c.object(CodeBackground, Span{int(s.Semicolon.Offset()), at.End}, ""); o != nil {
			return o
		}
	} else if s.Semicolon.IsValid() {
		if o := m.c.object(CodeOperator, Span{int(s.Semicolon.Offset()), at.End}, ""); o != nil {
			return o
		}
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		return m.and(s, cmd)
	case *syntax.CallExpr:
		return m.call(s, cmd)
	case nil:
		return m.redirectsOnly(s)
	}
	m.end = at.End
	return m.c.object(CodeCompound, at, "")
}

func (m *matcher) redirectsOnly(s *syntax.Stmt) *finding {
	if len(s.Redirs) > 0 {
		return m.c.object(CodeRedirect, span(s.Redirs[0]), "without a command")
	}
	return &finding{code: CodeEmpty}
}

func (m *matcher) and(s *syntax.Stmt, b *syntax.BinaryCmd) *finding {
	op := Span{int(b.OpPos.Offset()), int(b.OpPos.Offset()) + len(b.Op.String())}
	if b.Op != syntax.AndStmt {
		if o := m.c.object(CodeOperator, op, b.Op.String()); o != nil {
			return o
		}
	}
	if len(s.Redirs) > 0 {
		return &finding{code: CodeRedirect, at: span(s.Redirs[0])}
	}
	if o := m.stmt(b.X); o != nil {
		return o
	}
	if o := m.blank(op.Start); o != nil {
		return o
	}
	m.end = op.End
	return m.stmt(b.Y)
}

func (m *matcher) call(s *syntax.Stmt, call *syntax.CallExpr) *finding {
	at := span(s)
	if len(call.Assigns) > 0 {
		if o := m.c.object(CodeAssignment, span(call.Assigns[0]), ""); o != nil {
			return o
		}
		m.end = int(call.Assigns[len(call.Assigns)-1].End().Offset())
	}
	if len(call.Args) == 0 {
		return &finding{code: CodeEmpty, at: at}
	}
	last := call.Args[len(call.Args)-1].Pos()
	for _, r := range s.Redirs {
		if !r.Pos().After(last) {
			if o := m.c.object(CodeRedirect, span(r), "before an argument"); o != nil {
				return o
			}
		}
	}
	out := simple{at: at, words: make([]word, 0, len(call.Args))}
	for _, w := range call.Args {
		if o := m.word(w, &out); o != nil {
			return o
		}
	}
	for _, r := range s.Redirs {
		if o := m.redirect(r, &out); o != nil {
			return o
		}
	}
	out.at.End = m.end
	if len(m.out) == maxSegments {
		if o := m.c.object(CodeSegments, at, ""); o != nil {
			return o
		}
	}
	m.out = append(m.out, out)
	return nil
}

// blank objects to anything but blanks between what was read so far and the
// place up to: whatever a parser skips silently has to be seen here.
func (m *matcher) blank(upTo int) *finding {
	for i := m.end; i < upTo; i++ {
		code := CodeCharacter
		switch m.text[i] {
		case ' ', '\t':
			continue
		case '\n', ';':
			code = CodeOperator
		case '\\':
			code = CodeBackslash
		case '#':
			code = CodeComment
		case '&':
			code = CodeBackground
		case '!':
			code = CodeNegated
		case '<', '>':
			code = CodeRedirect
		}
		if o := m.c.object(code, Span{i, i + 1}, ""); o != nil {
			return o
		}
	}
	m.end = max(m.end, upTo)
	return nil
}

func (m *matcher) word(w *syntax.Word, out *simple) *finding {
	at := span(w)
	if o := m.blank(at.Start); o != nil {
		return o
	}
	if at.Start < m.end || at.End > len(m.text) || at.End <= at.Start {
		return &finding{code: CodeUnparsed, at: at}
	}
	m.end = at.End
	raw := m.text[at.Start:at.End]
	read, o := m.c.decode(raw, at.Start)
	if o != nil {
		return o
	}
	parsed, o := m.parts(w.Parts, raw)
	if o != nil {
		return o
	}
	if parsed != read.text {
		if o := m.c.object(CodeDisagree, at, ""); o != nil {
			return o
		}
	}
	out.words = append(out.words, read)
	return nil
}

// parts puts together what the parser says the word is, from literals and
// plain quotes alone.
func (m *matcher) parts(parts []syntax.WordPart, raw string) (string, *finding) {
	if len(parts) == 1 {
		if lit, ok := parts[0].(*syntax.Lit); ok {
			return lit.Value, nil
		}
	}
	var b strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
			continue
		case *syntax.SglQuoted:
			if !p.Dollar {
				b.WriteString(p.Value)
				continue
			}
		case *syntax.DblQuoted:
			if s, ok := literals(p); ok {
				b.WriteString(s)
				continue
			}
		case *syntax.ExtGlob:
			if o := m.c.object(CodeGlob, span(part), ""); o != nil {
				return "", o
			}
			return raw, nil
		}
		if o := m.c.object(CodeExpansion, span(part), ""); o != nil {
			return "", o
		}
		return raw, nil
	}
	return b.String(), nil
}

func literals(q *syntax.DblQuoted) (string, bool) {
	if q.Dollar {
		return "", false
	}
	switch len(q.Parts) {
	case 0:
		return "", true
	case 1:
		lit, ok := q.Parts[0].(*syntax.Lit)
		if !ok {
			return "", false
		}
		return lit.Value, true
	}
	var b strings.Builder
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", false
		}
		b.WriteString(lit.Value)
	}
	return b.String(), true
}

// harmless are the redirections that neither write nor read a file.
var harmless = map[string]bool{
	"2>&1": true, ">&2": true, ">/dev/null": true, "2>/dev/null": true, "</dev/null": true,
}

func (m *matcher) redirect(r *syntax.Redirect, out *simple) *finding {
	at := span(r)
	if at.Start < m.end {
		return nil
	}
	if o := m.blank(at.Start); o != nil {
		return o
	}
	if at.End > len(m.text) || r.Word == nil {
		return &finding{code: CodeUnparsed, at: at}
	}
	m.end = at.End
	target := span(r.Word)
	text := r.Op.String() + m.text[target.Start:target.End]
	if r.N != nil {
		text = r.N.Value + text
	}
	// The operator and its target may be apart by blanks, by nothing else.
	written := withoutBlanks(m.text[at.Start:at.End])
	if !harmless[text] || written != text {
		if o := m.c.object(CodeRedirect, at, text); o != nil {
			return o
		}
	}
	out.redirects = append(out.redirects, word{at: at, raw: text, text: text})
	return nil
}

func withoutBlanks(s string) string {
	if strings.IndexByte(s, ' ') < 0 && strings.IndexByte(s, '\t') < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' {
			return -1
		}
		return r
	}, s)
}
