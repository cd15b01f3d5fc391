package needs

import (
	"fmt"
	"time"
)

// TerminfoDir holds the description of the caller's terminal, if the launcher
// sends one.
const TerminfoDir = RunDir + "/terminfo"

// ExtraCAFile holds the certificates that the box trusts beyond those of its
// image, if there are any.
const ExtraCAFile = RunDir + "/ca-extra.crt"

// Lifeline is the command that a launcher runs in the box as its bystander, and
// whose standard input it holds: the box ends when that does.
func Lifeline() []string { return []string{Init, "lifeline"} }

// LifelineWithin is how long after its start a box that nobody's lifeline has
// reached ends itself.
const LifelineWithin = 5 * time.Second

// LifelineHeld is what that command prints once the box hangs on it.
const LifelineHeld = "held\n"

// BystanderID is the user and group id in the box of what a launcher runs there
// beside the harness. It is neither the harness, which therefore can neither
// signal nor imitate it, nor root, which is the harness's equal on an engine
// whose containers' root is the caller.
const BystanderID = 65533

// Bystander is BystanderID as an engine takes it.
func Bystander() string { return fmt.Sprintf("%d:%[1]d", BystanderID) }
