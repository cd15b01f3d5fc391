package needs

// TerminfoDir holds the description of the caller's terminal, if the launcher
// sends one.
const TerminfoDir = RunDir + "/terminfo"

// ExtraCAFile holds the certificates that the box trusts beyond those of its
// image, if there are any.
const ExtraCAFile = RunDir + "/ca-extra.crt"

// Lifeline is the command that a launcher runs in the box, as its root, and
// whose standard input it holds: the box ends when that does.
func Lifeline() []string { return []string{BinaryDir + "/cage-init", "lifeline"} }

// LifelineHeld is what that command prints once the box hangs on it.
const LifelineHeld = "held\n"
