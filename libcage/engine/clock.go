package engine

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/docker/docker/client"
)

// clock notes what time an engine has when it answers: HTTP servers date what
// they say, to the second.
type clock struct {
	http.RoundTripper
	ahead atomic.Pointer[time.Duration]
}

// watchClock has a client's answers noted.
func watchClock(api *client.Client) (*clock, error) {
	reached := api.HTTPClient()
	c := &clock{RoundTripper: reached.Transport}
	reached.Transport = c
	return c, client.WithHTTPClient(reached)(api)
}

// RoundTrip notes the first answer only: later ones may have waited.
func (c *clock) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := c.RoundTripper.RoundTrip(request)
	if err == nil && c.ahead.Load() == nil {
		if told, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
			ahead := told.Sub(time.Now().Truncate(time.Second))
			c.ahead.CompareAndSwap(nil, &ahead)
		}
	}
	return answer, err
}

// ClockAhead returns how far the engine's clock is ahead of this machine's, to
// about a second. It is false before the first call, and for an engine that
// does not tell.
func (c *Client) ClockAhead() (time.Duration, bool) {
	if ahead := c.clock.ahead.Load(); ahead != nil {
		return *ahead, true
	}
	return 0, false
}
