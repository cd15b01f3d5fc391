package ghissue

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/agent-cage/agent-cage/internal/githubserver"
)

func TestFailures(t *testing.T) {
	w := newWorld(t)
	w.server.AddIssue("ann", "x", "")
	for _, c := range []struct {
		name  string
		fault http.HandlerFunc
		want  []string
	}{
		{"401", githubserver.Status(401, "Bad credentials"), []string{"does not accept the token: Bad credentials (401)"}},
		{"403", githubserver.Status(403, "Resource not accessible by personal access token"), []string{"the token may not do that: Resource", "(403)"}},
		{"404", githubserver.Status(404, "Not Found"), []string{"not there, or not for this token to see: Not Found (404)"}},
		{"410", githubserver.Status(410, "Issues are disabled for this repo"), []string{"Issues are disabled", "(410)"}},
		{"422", githubserver.Status(422, "Validation Failed"), []string{"GitHub refuses: Validation Failed (422)"}},
		{"501", githubserver.Status(501, ""), []string{"GitHub failed: Not Implemented (501)"}},
		{"rate 403", githubserver.RateLimited(403, noon.Add(25*time.Minute)), []string{"rate limit reached; it resets at 2026-05-04T12:25:00Z, in 25m0s"}},
		{"rate 429", githubserver.RateLimited(429, noon.Add(time.Minute)), []string{"rate limit reached; it resets at 2026-05-04T12:01:00Z, in 1m0s"}},
		{"secondary", githubserver.SecondaryLimited(403, 90), []string{"secondary rate limit reached; it resets at 2026-05-04T12:01:30Z, in 1m30s"}},
		{"secondary 429", githubserver.SecondaryLimited(429, 0), []string{"secondary rate limit reached; GitHub does not say until when"}},
		{"429", githubserver.Status(429, "slow down"), []string{"rate limit reached; GitHub does not say until when"}},
		{"terminal", githubserver.Status(403, "a\x1b]0;title\x07b\x1b[2Jc\nd\u202e"), []string{"may not do that: abc d (403)"}},
	} {
		for _, args := range [][]string{{"list"}, {"close", "1"}} {
			t.Run(c.name+" "+args[0], func(t *testing.T) {
				w.server.Seen()
				w.slept = nil
				w.server.Fail(c.fault)
				w.bad(StatusFailed, c.want, args...)
				if n := len(w.server.Seen()); n != 1 || len(w.slept) != 0 {
					t.Errorf("%d requests, slept %v", n, w.slept)
				}
			})
		}
	}
}

func TestOnlyWhatChangesNothingIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.server.AddIssue("ann", "x", "")
	for name, fault := range map[string]http.HandlerFunc{
		"500": githubserver.Status(500, "boom"), "502": githubserver.Status(502, "boom"), "503": githubserver.Status(503, "boom"),
		"504": githubserver.Status(504, "boom"), "dropped": githubserver.Dropped,
	} {
		w.slept = nil
		w.server.Seen()
		w.server.Fail(fault, fault)
		w.good("list")
		if n := len(w.server.Seen()); n != 3 || !slices.Equal(w.slept, []time.Duration{backoff, 2 * backoff}) {
			t.Errorf("%s: list took %d requests and slept %v", name, n, w.slept)
		}
		w.server.Fail(fault, fault, fault)
		if status, _, _ := w.run("list"); status != StatusFailed {
			t.Errorf("%s: three failures: status %d", name, status)
		}
		w.slept = nil
		w.server.Seen()
		for _, args := range [][]string{
			{"close", "1"}, {"create", "--title", "x"}, {"comment", "1", "--body-file", w.body("x")}, {"label", "1", "--add", "x"},
			{"label", "1", "--remove", "x"}, {"pr-create", "--title", "x", "--head", "b", "--base", "main"},
		} {
			w.server.Fail(fault)
			w.bad(StatusFailed, []string{"it may have been done all the same"}, args...)
			if n := len(w.server.Seen()); n != 1 || w.slept != nil {
				t.Errorf("%s: %q sent %d requests, slept %v", name, args, n, w.slept)
			}
		}
	}
	// The change is the third request of this one, and goes out once.
	w.server.AddIssue("ann", "y", "")
	w.server.Fail(nil, nil, githubserver.Status(502, "boom"))
	w.bad(StatusFailed, []string{"it may have been done all the same"}, "link-branch", "1", "--branch", "b", "--base", "main")
}

func TestTimeOuts(t *testing.T) {
	w := newWorld(t)
	w.server.AddIssue("ann", "x", "")
	w.answer = 50 * time.Millisecond
	w.server.Fail(githubserver.Mute, githubserver.Mute, githubserver.Mute)
	w.bad(StatusFailed, []string{"no answer in time"}, "list")
	w.server.Seen()
	w.server.Fail(githubserver.Mute)
	w.bad(StatusFailed, []string{"no answer in time; it may have been done"}, "close", "1")
	w.answer, w.overall = 5*time.Second, 100*time.Millisecond
	w.server.Fail(githubserver.Mute)
	w.bad(StatusFailed, []string{"no answer in time; it may have been done"}, "close", "1")
	w.server.Fail(githubserver.Mute)
	w.bad(StatusFailed, []string{"no answer in time"}, "list")
}

func TestNobodyListens(t *testing.T) {
	w := newWorld(t)
	w.config("repositories = ['acme/app']\nurl = 'http://127.0.0.1:1'\nplain-loopback = true")
	w.bad(StatusFailed, []string{"connection refused"}, "create", "--title", "x")
	w.bad(StatusFailed, []string{"connection refused"}, "list")
}

func TestAnAnswerIsBounded(t *testing.T) {
	w := newWorld(t)
	w.server.Fail(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Write([]byte(`[{"body": "`))
		chunk := make([]byte, 1<<20)
		for i := range chunk {
			chunk[i] = 'x'
		}
		for range maxAnswer>>20 + 1 {
			if _, err := rw.Write(chunk); err != nil {
				return
			}
		}
	})
	w.bad(StatusFailed, []string{"the answer is larger than"}, "list")
	w.server.Fail(func(rw http.ResponseWriter, _ *http.Request) { rw.Write([]byte("<html>")) })
	w.bad(StatusFailed, []string{"invalid character"}, "list")
}

func TestGraphQLRateLimit(t *testing.T) {
	w := newWorld(t)
	w.server.AddIssue("ann", "x", "")
	w.server.Fail(nil, nil, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("X-RateLimit-Remaining", "0")
		rw.Header().Set("X-RateLimit-Reset", "1777896300")
		rw.Write([]byte(`{"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}`))
	})
	w.bad(StatusFailed, []string{"rate limit reached; it resets at 2026-05-04T12:05:00Z, in 5m0s"}, "link-branch", "1", "--branch", "b", "--base", "main")
}
