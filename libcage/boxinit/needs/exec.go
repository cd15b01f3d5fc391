package needs

// Exec is the command that runs another one in the box as the harness: the same
// user, user namespace, environment and directory, and no more privileges. The
// engine starts it as the box's root. The mark is for [Signal].
func Exec(mark string, argv []string) []string {
	return append([]string{Init, "exec", mark}, argv...)
}

// Signal is the command that sends a signal, "SIGTERM", to what an Exec with
// that mark runs. The engine itself has no way to end a command that it was
// told to start.
func Signal(mark, name string) []string {
	return []string{Init, "signal", mark, name}
}
