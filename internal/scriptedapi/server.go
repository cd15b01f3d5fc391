package scriptedapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxBody is far above what a client sends: a request holds the whole
// conversation, with every file that was read.
const maxBody = 64 << 20

// Server answers clients from a script. Its methods may be called at once
// from several goroutines.
type Server struct {
	// RecordTo, if set, gets each Record as a line of JSON before the request
	// is answered. Set it before the first request.
	RecordTo io.Writer
	// LogTo, if set, gets a line for each request and each mismatch. Set it
	// before the first request.
	LogTo io.Writer

	script *Script

	mu       sync.Mutex
	records  []Record
	sessions map[string]*session
	order    []*session
	writeErr error
}

// New returns a server for a script that came from Load.
func New(script *Script) *Server {
	return &Server{script: script, sessions: map[string]*session{}}
}

// Handler returns the server's face, both protocols on one port.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.model(parseMessages, dialectOf(Messages)))
	mux.HandleFunc("POST /v1/messages/count_tokens", s.countTokens)
	mux.HandleFunc("POST /v1/responses", s.model(parseResponses, dialectOf(Responses)))
	mux.HandleFunc("GET /v1/responses", s.noWebSocket)
	mux.HandleFunc("GET /api/hello", s.hello)
	mux.HandleFunc("/", s.notFound)
	return mux
}

// Requests returns the records so far, in order.
func (s *Server) Requests() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.records)
}

// Err is nil if every request was as the script expects, and every
// conversation that is not optional was had to its end.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var reports []string
	for i := range s.records {
		rec := &s.records[i]
		if rec.Mismatch != "" && !rec.Replayed {
			reports = append(reports, rec.report())
		}
	}
	for _, session := range s.order {
		if report := session.unfinished(); report != "" {
			reports = append(reports, report)
		}
	}
	for _, c := range s.script.Conversations {
		begun := slices.ContainsFunc(s.order, func(session *session) bool { return session.script == c })
		if !begun && !c.Optional {
			reports = append(reports, fmt.Sprintf("conversation %s: no client began it", c.Name))
		}
	}
	if s.writeErr != nil {
		reports = append(reports, s.writeErr.Error())
	}
	if len(reports) == 0 {
		return nil
	}
	return &MismatchError{Reports: reports}
}

// MismatchError says how the clients' requests differed from the script.
type MismatchError struct {
	Reports []string
}

// Error is the reports, one a line.
func (e *MismatchError) Error() string {
	return strings.Join(e.Reports, "\n")
}

func (rec *Record) report() string {
	if rec.Conversation == "" {
		return fmt.Sprintf("request %d: %s", rec.Seq, rec.Mismatch)
	}
	return fmt.Sprintf("request %d, conversation %s, turn %d: %s", rec.Seq, rec.Conversation, rec.Turn, rec.Mismatch)
}

type parser func(http.Header, []byte) (*request, error)

func (s *Server) model(parse parser, d dialect) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		out := &writer{ResponseWriter: w, req: req, dialect: d}
		rec, body := s.begin(w, req)
		r, err := parse(req.Header, body)
		if err != nil {
			rec.Mismatch = fmt.Sprintf("request body: %v", err)
			s.finish(rec)
			out.fail(http.StatusBadRequest, "invalid_request_error", "scripted-api: "+rec.Mismatch)
			return
		}
		turn, id := s.decide(rec, r)
		if rec.Mismatch != "" {
			out.fail(http.StatusBadRequest, "invalid_request_error", "scripted-api: "+rec.report())
			return
		}
		out.send(turn, r.stream, r.model, id)
	}
}

// begin starts the record of a request. A body that cannot be read is recorded
// as far as it came and then fails to parse.
func (s *Server) begin(w http.ResponseWriter, req *http.Request) (*Record, []byte) {
	body, _ := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	header, credential := redact(req.Header)
	rec := &Record{
		Time: time.Now(), Method: req.Method, Path: req.URL.RequestURI(),
		Header: header, Credential: credential, Kind: KindOther,
	}
	switch {
	case json.Valid(body):
		rec.Body = body
	case len(body) > 0:
		rec.Body = encode(string(body))
	}
	return rec, body
}

// decide finds the turn for r, notes it in rec and records that.
func (s *Server) decide(rec *Record, r *request) (*Turn, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.append(rec)
	if r.auxiliary == "" && hasOpening(r.prompt, s.script.AuxiliaryPrompts) {
		r.auxiliary = "prompt is named in the script"
	}
	rec.fill(r)
	if r.auxiliary != "" {
		return &Turn{Reply: []Item{{Text: r.auxiliaryText(s.script.Auxiliary)}}}, fmt.Sprintf("aux_%d", len(s.records)+1)
	}
	session, number := s.session(r)
	if session == nil {
		rec.Mismatch = "no conversation of the script matches the prompt " + excerpt(r.first)
		return nil, ""
	}
	got := session.advance(r)
	rec.Conversation, rec.Turn, rec.Replayed, rec.Mismatch = session.name, got.number, got.replayed, got.mismatch
	return &got.turn, fmt.Sprintf("scripted_%d_%d", number, got.number)
}

// session finds or begins the client's conversation and tells its number.
func (s *Server) session(r *request) (*session, int) {
	key := string(r.api) + "\x00" + r.key
	if found := s.sessions[key]; found != nil {
		return found, slices.Index(s.order, found) + 1
	}
	for _, c := range s.script.Conversations {
		if !c.Match.holds(r) {
			continue
		}
		nth := 1
		for _, other := range s.order {
			if other.script == c {
				nth++
			}
		}
		begun := &session{name: fmt.Sprintf("%s#%d", c.Name, nth), script: c, values: map[string]string{}}
		s.sessions[key] = begun
		s.order = append(s.order, begun)
		return begun, len(s.order)
	}
	return nil, 0
}

func (s *Server) finish(rec *Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.append(rec)
}

// append numbers, keeps, writes and logs a record. s.mu is held.
func (s *Server) append(rec *Record) {
	rec.Seq = len(s.records) + 1
	s.records = append(s.records, *rec)
	if s.RecordTo != nil {
		if _, err := s.RecordTo.Write(append(encode(rec), '\n')); err != nil && s.writeErr == nil {
			s.writeErr = fmt.Errorf("record: %w", err)
		}
	}
	if s.LogTo == nil {
		return
	}
	fmt.Fprintf(s.LogTo, "%d %s %s %s\n", rec.Seq, rec.Method, rec.Path, rec.describe())
	if rec.Mismatch != "" && !rec.Replayed {
		fmt.Fprintf(s.LogTo, "MISMATCH: %s\n", rec.report())
	}
}

func (rec *Record) describe() string {
	switch rec.Kind {
	case KindAuxiliary:
		return "auxiliary: " + rec.Why
	case KindTurn:
		again := ""
		if rec.Replayed {
			again = " again"
		}
		return fmt.Sprintf("conversation %s turn %d%s", rec.Conversation, rec.Turn, again)
	}
	return string(rec.Kind)
}

// countTokens answers with a fourth of the body's bytes, which is near enough
// for a client that only wants to know whether there is room.
func (s *Server) countTokens(w http.ResponseWriter, req *http.Request) {
	rec, body := s.begin(w, req)
	s.finish(rec)
	out := &writer{ResponseWriter: w, req: req}
	out.json(http.StatusOK, object{"input_tokens": len(body)/4 + 1})
}

// hello is Claude Code's check that the service is there.
func (s *Server) hello(w http.ResponseWriter, req *http.Request) {
	rec, _ := s.begin(w, req)
	s.finish(rec)
	w.WriteHeader(http.StatusOK)
}

// noWebSocket answers Codex's attempt to have turns over a WebSocket, after
// which it posts them.
func (s *Server) noWebSocket(w http.ResponseWriter, req *http.Request) {
	rec, _ := s.begin(w, req)
	s.finish(rec)
	out := &writer{ResponseWriter: w, req: req, dialect: dialectOf(Responses)}
	out.fail(http.StatusUpgradeRequired, "invalid_request_error", "scripted-api has no WebSocket")
}

func (s *Server) notFound(w http.ResponseWriter, req *http.Request) {
	rec, _ := s.begin(w, req)
	s.finish(rec)
	out := &writer{ResponseWriter: w, req: req, dialect: dialectOf(Messages)}
	out.fail(http.StatusNotFound, "not_found_error", "scripted-api does not have "+req.URL.Path)
}
