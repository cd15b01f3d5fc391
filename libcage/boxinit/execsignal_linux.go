package boxinit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
)

// signalExecuted is the command cage-init signal: it sends a signal to the
// command that a cage-init exec with that mark waits for, which is its only
// child. One that has ended is no error.
func signalExecuted(mark, name string) error {
	sig := unix.SignalNum(name)
	if sig == 0 {
		return fmt.Errorf("no signal %q", name)
	}
	parent, err := findExec(mark)
	if err != nil || parent == 0 {
		return err
	}
	for _, child := range childrenOf(parent) {
		if err := unix.Kill(child, sig); err != nil && err != unix.ESRCH {
			return err
		}
	}
	return nil
}

// findExec returns the process with the mark; 0 if there is none.
func findExec(mark string) (pid int, err error) {
	begin := []byte(strings.Join(needs.Exec(mark, nil), "\x00") + "\x00")
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.HasPrefix(line, begin) {
			return strconv.Atoi(filepath.Base(filepath.Dir(file)))
		}
	}
	return 0, err
}

// childrenOf reads the lists of all threads, each of which has its own.
func childrenOf(pid int) (children []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is good
	for _, file := range files {
		list, _ := os.ReadFile(file) // of a thread that has ended
		for _, field := range strings.Fields(string(list)) {
			if child, err := strconv.Atoi(field); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}
