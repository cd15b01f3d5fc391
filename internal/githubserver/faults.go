package githubserver

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

// Status fails with a status and a message.
func Status(status int, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { refuse(w, status, message) }
}

// RateLimited is the primary limit, used up until a moment.
func RateLimited(status int, until time.Time) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("X-RateLimit-Limit", "5000")
		h.Set("X-RateLimit-Remaining", "0")
		h.Set("X-RateLimit-Reset", strconv.FormatInt(until.Unix(), 10))
		refuse(w, status, "API rate limit exceeded for user ID 1.")
	}
}

// SecondaryLimited is the limit on too much at once. after is the Retry-After
// header in seconds; 0 leaves it out.
func SecondaryLimited(status, after int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if after > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(after))
		}
		reply(w, status, object{"message": "You have exceeded a secondary rate limit.",
			"documentation_url": "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"})
	}
}

// Moved redirects.
func Moved(status int, to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		reply(w, status, object{"message": "Moved Permanently", "url": to})
	}
}

// Dropped ends the connection without an answer.
func Dropped(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// Mute answers nothing until the client goes away.
func Mute(_ http.ResponseWriter, r *http.Request) {
	// Only where the request was read to its end is the client's leaving seen.
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}
