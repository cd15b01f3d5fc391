package scriptedapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// event is one server-sent event. Both protocols repeat its name in the
// data's "type".
type event struct {
	name string
	data object
}

type object = map[string]any

// response is an answer in one protocol's words.
type response struct {
	events []event // up to the last piece of the reply
	end    []event // what closes a stream properly
	whole  object  // the same without streaming
}

// dialect is how a protocol says things.
type dialect struct {
	respond func(turn *Turn, model, id string) response
	// failure is the body of an error response, and failed an error event.
	failure func(kind, message string) object
	failed  func(kind, message string) event
}

func dialectOf(api API) dialect {
	if api == Responses {
		return dialect{responsesResponse, responsesFailure, responsesFailed}
	}
	return dialect{messagesResponse, messagesFailure, messagesFailed}
}

// writer sends one answer.
type writer struct {
	http.ResponseWriter
	req     *http.Request
	dialect dialect
	pace    time.Duration
}

// send answers with a turn. It returns early when the client is gone.
func (w *writer) send(turn *Turn, stream bool, model, id string) {
	w.pace = time.Duration(turn.Pace)
	if !w.sleep(time.Duration(turn.Wait)) {
		return
	}
	fault := turn.Fault
	switch {
	case fault == nil:
		w.reply(w.dialect.respond(turn, model, id), stream)
	case fault.Cut == CutBefore:
		// The server closes the connection and sends nothing.
		panic(http.ErrAbortHandler)
	case fault.Status != 0:
		if fault.RetryAfter != "" {
			w.Header().Set("Retry-After", fault.RetryAfter)
		}
		w.fail(fault.Status, fault.kind(), fault.message())
	default:
		w.breakOff(w.dialect.respond(turn, model, id), fault, stream)
	}
}

func (w *writer) reply(r response, stream bool) {
	if stream {
		w.stream(append(r.events, r.end...))
		return
	}
	w.json(http.StatusOK, r.whole)
}

// breakOff sends the reply's items and then the fault. Without streaming there
// is no place after the items, so the fault comes first.
func (w *writer) breakOff(r response, fault *Fault, stream bool) {
	switch {
	case fault.Event && stream:
		w.stream(append(r.events, w.dialect.failed(fault.kind(), fault.message())))
	case fault.Event:
		w.fail(http.StatusInternalServerError, fault.kind(), fault.message())
	case stream:
		w.stream(r.events)
		panic(http.ErrAbortHandler)
	default:
		panic(http.ErrAbortHandler)
	}
}

func (w *writer) stream(events []event) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	flusher := http.NewResponseController(w.ResponseWriter)
	for i, e := range events {
		if i > 0 && !w.sleep(w.pace) {
			return
		}
		e.data["type"] = e.name
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.name, encode(e.data)); err != nil {
			return
		}
		if err := flusher.Flush(); err != nil {
			return
		}
	}
}

func (w *writer) fail(status int, kind, message string) {
	w.json(status, w.dialect.failure(kind, message))
}

func (w *writer) json(status int, body object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The status is sent; a client that is gone by now needs no report.
	_, _ = w.Write(append(encode(body), '\n'))
}

// sleep reports false if the client went away meanwhile.
func (w *writer) sleep(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.req.Context().Done():
		return false
	}
}

func (f *Fault) kind() string {
	if f.Type != "" {
		return f.Type
	}
	switch f.Status {
	case http.StatusBadRequest:
		return "invalid_request_error"
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case 529, 0:
		return "overloaded_error"
	}
	return "api_error"
}

func (f *Fault) message() string {
	if f.Message != "" {
		return f.Message
	}
	return "scripted fault"
}

// encode marshals what came out of JSON or was built here; it cannot fail.
func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return data
}

// pieces cuts text for deltas, between characters.
func pieces(text string) []string {
	const size = 48
	var out []string
	runes := []rune(text)
	for len(runes) > size {
		out = append(out, string(runes[:size]))
		runes = runes[size:]
	}
	return append(out, string(runes))
}

func (u Usage) orDefault() Usage {
	if u == (Usage{}) {
		return Usage{Input: 100, Output: 20}
	}
	return u
}

// arguments is the input of a call as an object; a call without input has an
// empty one.
func (i *Item) arguments() any {
	if i.Input == nil {
		return object{}
	}
	return i.Input
}
