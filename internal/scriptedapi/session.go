package scriptedapi

import (
	"fmt"
	"maps"
)

// session is one client conversation's place in the script.
type session struct {
	name   string // conversation name # number, for reports
	script *Conversation
	next   int // index of the next turn
	tries  int // how often the turn at next, a fault, was given already
	values map[string]string
	// last is the request that was answered last and what it got, for a
	// client that sends it again although the answer was no fault.
	last     string
	lastTurn answer
	broken   string // a mismatch, which is final
}

// answer is what a main request gets.
type answer struct {
	turn     Turn // with its variables put in
	number   int  // of the turn, from 1
	replayed bool
	mismatch string
}

// advance takes the next turn for r.
func (s *session) advance(r *request) answer {
	if s.broken != "" {
		return answer{number: s.next + 1, replayed: true, mismatch: s.broken}
	}
	mark := r.fingerprint()
	if mark == s.last && s.lastTurn.turn.Fault == nil {
		again := s.lastTurn
		again.replayed = true
		return again
	}
	got := s.take(r)
	s.last, s.lastTurn, s.broken = mark, got, got.mismatch
	return got
}

func (s *session) take(r *request) answer {
	number := s.next + 1
	if s.next == len(s.script.Turns) {
		return answer{number: number, mismatch: fmt.Sprintf("the script has ended after %d turns, but the client asks on: %s",
			s.next, excerpt(r.prompt+r.resultText()))}
	}
	turn := s.script.Turns[s.next]
	values := maps.Clone(s.values)
	if r.cwd != "" {
		values[cwdVar] = r.cwd
	}
	if why := turn.Expect.capture(r, values); why != "" {
		return answer{number: number, mismatch: why}
	}
	s.values = values
	ready := turn.expand(values)
	if names := ready.variables(); len(names) > 0 {
		return answer{number: number, mismatch: fmt.Sprintf("{{%s}} has no value: the client does not say it", names[0])}
	}
	if why := ready.Expect.check(r); why != "" {
		return answer{number: number, mismatch: why}
	}
	if why := ready.checkCalls(r); why != "" {
		return answer{number: number, mismatch: why}
	}
	s.step(turn)
	return answer{turn: ready, number: number}
}

// step moves on, unless the turn is a fault that is to be given again.
func (s *session) step(turn *Turn) {
	s.tries++
	if s.tries < turn.Times {
		return
	}
	s.next, s.tries = s.next+1, 0
}

// unfinished returns a report of turns that no client asked for, or "".
func (s *session) unfinished() string {
	if s.broken != "" || s.script.Optional || s.next == len(s.script.Turns) {
		return ""
	}
	return fmt.Sprintf("conversation %s: the client asked for %d of %d turns", s.name, s.next, len(s.script.Turns))
}
