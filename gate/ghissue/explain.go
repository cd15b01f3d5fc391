package ghissue

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v84/github"
)

// explain says what went wrong and what to do about it.
func (e Env) explain(err error) string {
	var usage usageError
	var primary *github.RateLimitError
	var secondary *github.AbuseRateLimitError
	var moved *movedError
	var refused *github.ErrorResponse
	var twoFactor *github.TwoFactorAuthError
	var failed *url.Error
	switch {
	case errors.As(err, &usage):
		return err.Error()
	case errors.As(err, &primary):
		return "rate limit reached; " + e.again(primary.Rate.Reset.Time)
	case errors.As(err, &secondary):
		var at time.Time
		if secondary.RetryAfter != nil {
			at = e.Now().Add(*secondary.RetryAfter)
		}
		return "secondary rate limit reached; " + e.again(at)
	case errors.As(err, &moved):
		return moved.Error() + "; a repository that has moved is named anew in gate.toml"
	case errors.As(err, &twoFactor):
		return "GitHub does not accept the token (401): it wants a one-time password, so use a token that needs none"
	case errors.As(err, &refused):
		return e.refusal(refused)
	case errors.Is(err, context.DeadlineExceeded) || timedOut(err):
		return "no answer in time" + e.unsure(err)
	case errors.As(err, &failed):
		return failed.Err.Error() + e.unsure(err)
	}
	return err.Error()
}

// again says when a limit ends.
func (e Env) again(at time.Time) string {
	if at.IsZero() {
		return "GitHub does not say until when; wait a minute or more"
	}
	wait := max(0, at.Sub(e.Now()).Round(time.Second))
	return fmt.Sprintf("it resets at %s, in %s", at.UTC().Format(time.RFC3339), wait)
}

func (e Env) refusal(r *github.ErrorResponse) string {
	said := r.Message
	for _, d := range r.Errors {
		switch {
		case d.Message != "":
			said += "; " + d.Message
		case d.Field != "":
			said += fmt.Sprintf("; %s: %s", d.Field, d.Code)
		}
	}
	status := r.Response.StatusCode
	if said = strings.TrimSpace(said); said == "" {
		said = http.StatusText(status)
	}
	said = fmt.Sprintf("%s (%d)", said, status)
	if seconds, err := strconv.Atoi(r.Response.Header.Get("Retry-After")); err == nil &&
		(status == http.StatusForbidden || status == http.StatusTooManyRequests) {
		return "secondary rate limit reached; " + e.again(e.Now().Add(time.Duration(seconds)*time.Second))
	}
	switch {
	case status == http.StatusUnauthorized:
		return "GitHub does not accept the token: " + said
	case status == http.StatusForbidden:
		return "the token may not do that: " + said
	case status == http.StatusTooManyRequests:
		return "rate limit reached; " + e.again(time.Time{})
	case status == http.StatusNotFound || status == http.StatusGone:
		return "not there, or not for this token to see: " + said
	case status >= 500:
		return "GitHub failed: " + said + e.unsure(r)
	}
	return "GitHub refuses: " + said
}

// doubt goes with a change of which nobody knows whether it came about.
const doubt = "; it may have been done all the same, so look before doing it again"

// unsure returns doubt where the last request would have changed something.
func (e Env) unsure(err error) string {
	if e.last.changes && !neverSent(err) {
		return doubt
	}
	return ""
}

// neverSent reports whether no connection came about.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func timedOut(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}
