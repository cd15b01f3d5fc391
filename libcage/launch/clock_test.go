package launch

import (
	"strings"
	"testing"
	"time"

	"github.com/agent-cage/agent-cage/libcage/engine"
)

func TestClockWarning(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		engine time.Time
		want   string
	}{
		{time.Time{}, ""},
		{now, ""},
		{now.Add(clockSlack - time.Second), ""},
		{now.Add(-clockSlack + time.Second).In(time.FixedZone("", 3600)), ""},
		{now.Add(clockSlack), "is 5m0s off"},
		{now.Add(-clockSlack), "is -5m0s off"},
		{now.AddDate(-2, 0, 0), "off this one's: set it right"},
	} {
		got := clockWarning(engine.Info{Time: tt.engine}, now)
		if (tt.want == "") != (got == nil) || !strings.Contains(strings.Join(got, "\n"), tt.want) {
			t.Errorf("%v: got %q, want %q", tt.engine, got, tt.want)
		}
	}
}
