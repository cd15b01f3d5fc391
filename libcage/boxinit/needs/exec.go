package needs

// Exec is the command that runs another one in the box as the harness: the same
// user, user namespace, environment and directory, and no more privileges. The
// engine starts it as the box's root.
func Exec(argv []string) []string {
	return append([]string{BinaryDir + "/cage-init", "exec"}, argv...)
}
