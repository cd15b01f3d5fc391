//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// IsStart reports whether this process is one that runs inside the cage for
// sbox itself: bubblewrap's first, or git's signing program.
func IsStart(args []string) bool {
	return len(args) > 1 && args[0] == startPath || len(args) > 0 && args[0] == refusePath
}

// Start looks at the cage from inside, then becomes the command. It returns
// only if that fails, with the status to exit with; what went wrong is on the
// caller's standard error.
func Start(args []string) int {
	switch {
	case args[0] == refusePath:
		return refuseSigning()
	case len(args) == 3 && args[1] == "probe":
		return probeInside(args[2])
	}
	o, err := readOrder(args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbox:", err)
		return StatusRefused
	}
	if o.Stderr >= 0 {
		if err := unix.Dup3(o.Stderr, 2, 0); err != nil {
			return StatusRefused
		}
	}
	if err := unix.CloseRange(3, ^uint(0)>>1, 0); err != nil {
		closeFrom(3)
	}
	if err := o.verify("/proc/self/mountinfo"); err != nil {
		fmt.Fprintln(os.Stderr, "sbox:", err)
		return StatusRefused
	}
	return o.exec()
}

// refuseSigning is what git runs to sign. git keeps what its signing program
// says to itself, so that the reason goes to git's own standard error.
func refuseSigning() int {
	const reason = "sbox: nothing can be signed here: keys are hidden in the cage; use --no-gpg-sign, or sign outside"
	w, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/2", os.Getppid()), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		w = os.Stderr
	}
	fmt.Fprintln(w, reason)
	return 1
}

// closeFrom is for kernels without close_range.
func closeFrom(first int) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
}

// exec finds the program on the command's own PATH and becomes it.
func (o *order) exec() int {
	name := o.Args[0]
	path, err := lookCommand(name, o.Env)
	if err == nil {
		ignore(o.Ignored)
		mask := unix.Sigset_t{}
		mask.Val[0] = o.Mask
		if err = unix.PthreadSigmask(unix.SIG_SETMASK, &mask, nil); err == nil {
			err = syscall.Exec(path, o.Args, o.Env)
			if errors.Is(err, unix.ENOEXEC) {
				// As execvp does: a script without a first line.
				err = syscall.Exec("/bin/sh", append([]string{"/bin/sh", path}, o.Args[1:]...), o.Env)
			}
		}
	}
	var pe *os.PathError
	switch {
	case errors.Is(err, unix.ENOENT) && path != "" && exists(path):
		fmt.Fprintf(os.Stderr, "sbox: %q cannot be executed: its interpreter is missing\n", name)
		return StatusRefused
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		fmt.Fprintf(os.Stderr, "sbox: %q not found\n", name)
		return StatusNotFound
	case errors.As(err, &pe):
		err = pe.Err
	}
	fmt.Fprintf(os.Stderr, "sbox: %q cannot be executed: %v\n", name, err)
	return StatusRefused
}

// ignore ignores signals, a bit each. The command inherits it.
func ignore(signals uint64) {
	// 0 is the default action, 1 the one that ignores.
	act := sigaction{handler: 1}
	for s := range 64 {
		if signals&(1<<s) != 0 {
			_ = setAction(syscall.Signal(s+1), &act, nil)
		}
	}
}

// lookCommand finds a program as execvp does: a name with a slash is a path,
// and a match that may not be executed is remembered, not taken.
func lookCommand(name string, env []string) (string, error) {
	if name == "" {
		return "", unix.ENOENT
	}
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	search := "/usr/local/bin:/usr/bin:/bin"
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			search = v
		}
	}
	var found error = unix.ENOENT
	for _, dir := range strings.Split(search, ":") {
		if dir == "" {
			dir = "."
		}
		p := filepath.Join(dir, name)
		if !filepath.IsAbs(p) {
			p = "./" + p
		}
		err := executable(p)
		if err == nil {
			return p, nil
		}
		if errors.Is(err, unix.EACCES) {
			found = unix.EACCES
		}
	}
	return "", found
}

func executable(p string) error {
	var st unix.Stat_t
	if err := unix.Stat(p, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return unix.EACCES
	}
	return unix.Access(p, unix.X_OK)
}
