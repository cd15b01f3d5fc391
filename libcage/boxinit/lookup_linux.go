package boxinit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

// defaultPath is the PATH of an environment without one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// lookPath finds the program name as execvp does, seen by the calling thread's
// user from its working directory.
func lookPath(name string, env []string) (string, *exitstatus.Fault) {
	if name == "" {
		return "", notExecutable("the command is empty")
	}
	if strings.Contains(name, "/") {
		if why := cannotExecute(name); why != "" {
			return "", notExecutable("%s %s", name, why)
		}
		return name, nil
	}
	path := lookEnv(env, "PATH", defaultPath)
	var found string
	for dir := range strings.SplitSeq(path, ":") {
		file := dir + "/" + name
		if dir == "" {
			file = "./" + name
		}
		why := cannotExecute(file)
		if why == "" {
			return file, nil
		}
		if why != missing && found == "" {
			found = file + " " + why
		}
	}
	if found != "" {
		return "", notExecutable("%s", found)
	}
	return "", notExecutable("%s was not found in the box's PATH (%s)", name, path)
}

const missing = "does not exist in the box"

// cannotExecute returns why file cannot be executed, or "".
func cannotExecute(file string) string {
	var st unix.Stat_t
	switch err := unix.Stat(file, &st); err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR:
		return missing
	default:
		return "cannot be reached: " + err.Error()
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		return "is a directory"
	default:
		return "is not a file"
	}
	if err := unix.Access(file, unix.X_OK); err != nil {
		return "is not executable: " + err.Error()
	}
	return ""
}

func notExecutable(format string, args ...any) *exitstatus.Fault {
	return exitstatus.Faultf(exitstatus.HarnessNotExecutable, format, args...)
}

// explainExec says why execve of a file that looked executable failed.
func explainExec(path string, err error) *exitstatus.Fault {
	head := readHead(path)
	interpreter, isScript := shebang(head)
	machine, isELF := elfMachine(head)
	switch {
	case errors.Is(err, unix.ENOENT) && isScript, errors.Is(err, unix.EACCES) && isScript, errors.Is(err, unix.ELOOP) && isScript:
		return notExecutable("%s: its interpreter %q cannot be executed: %w", path, interpreter, err)
	case errors.Is(err, unix.ENOENT) && isELF:
		return notExecutable("%s: its dynamic loader is not in the box: %w", path, err)
	case errors.Is(err, unix.ENOEXEC) && isELF:
		return notExecutable("%s is a program for another processor (ELF machine %d): %w", path, machine, err)
	case errors.Is(err, unix.ENOEXEC):
		return notExecutable("%s is neither a program nor a script that names its interpreter: %w", path, err)
	default:
		return notExecutable("%s: %w", path, err)
	}
}

func readHead(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	return head[:n]
}

func shebang(head []byte) (interpreter string, ok bool) {
	line, ok := bytes.CutPrefix(head, []byte("#!"))
	if !ok {
		return "", false
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) == 0 {
		return "", true
	}
	// A carriage return is the usual reason, and %q shows it.
	rest, _, _ := bytes.Cut(bytes.TrimLeft(line, " \t"), []byte(" "))
	return string(rest), true
}

func elfMachine(head []byte) (machine uint16, ok bool) {
	const machineAt, orderAt, bigEndian = 18, 5, 2
	if len(head) < machineAt+2 || !bytes.HasPrefix(head, []byte("\x7fELF")) {
		return 0, false
	}
	if head[orderAt] == bigEndian {
		return binary.BigEndian.Uint16(head[machineAt:]), true
	}
	return binary.LittleEndian.Uint16(head[machineAt:]), true
}

// lookEnv returns the value of name in env, or def.
func lookEnv(env []string, name, def string) string {
	for _, kv := range env {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return def
}
