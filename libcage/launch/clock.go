package launch

import (
	"fmt"
	"time"

	"github.com/agent-cage/agent-cage/libcage/engine"
)

// clockSlack is how far two clocks may be apart. Beyond it, tokens and
// certificates are taken for not yet valid or expired.
const clockSlack = 5 * time.Minute

// mentionClock says so if the engine's clock, and so the box's, is far off. Its
// first answer has told that.
func (l *launcher) mentionClock(client *engine.Client) {
	if ahead, ok := client.ClockAhead(); ok && ahead.Abs() >= clockSlack {
		l.say.warn(fmt.Sprintf("the engine's clock is %v off this one's: set it right, or logins and TLS may fail", ahead))
	}
}
