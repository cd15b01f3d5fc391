package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// play takes the steps of a script.
func (s *session) play(script string) error {
	for i, line := range strings.Split(script, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		if err := s.step(name, strings.TrimSpace(rest)); err != nil {
			return fmt.Errorf("line %d, %s: %w; the terminal showed since the last wait:\n%q", i+1, line, err, s.output()[s.seen:])
		}
	}
	return nil
}

func (s *session) step(name, rest string) error {
	switch name {
	case "wait", "never":
		pattern, err := regexp.Compile("(?s)" + rest)
		if err != nil {
			return err
		}
		if name == "never" {
			return s.never(pattern)
		}
		return s.wait(pattern)
	case "send", "keys", "key":
		text, err := strconv.Unquote(rest)
		if err != nil {
			return fmt.Errorf("%s: %w", rest, err)
		}
		return s.write(text, name)
	case "paste":
		text, err := os.ReadFile(rest)
		if err != nil {
			return err
		}
		return s.write(string(text), "send")
	case "deaf":
		return s.listenAgain(rest == "off")
	case "size":
		var rows, cols uint16
		if _, err := fmt.Sscan(rest, &rows, &cols); err != nil {
			return err
		}
		return s.resize(rows, cols)
	case "signal", "signal-fg":
		sig := unix.SignalNum("SIG" + rest)
		if sig == 0 {
			return fmt.Errorf("no signal %q", rest)
		}
		return s.signal(sig, name == "signal-fg")
	case "modes":
		return s.waitModes(rest)
	case "run":
		cmd := exec.Command("sh", "-c", rest)
		cmd.Env = append(os.Environ(), "PID="+strconv.Itoa(s.command.Process.Pid))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	case "pause":
		d, err := time.ParseDuration(rest)
		time.Sleep(d)
		return err
	case "hangup":
		return errors.Join(s.slave.Close(), s.master.Close())
	case "end":
		return s.end(rest)
	}
	return errors.New("no such step")
}

// within waits for a condition.
func (s *session) within(what string, ok func() bool) error {
	for deadline := time.Now().Add(s.timeout); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return errors.New(what)
		}
	}
	return nil
}

func (s *session) wait(pattern *regexp.Regexp) error {
	over := false
	err := s.within("it did not come", func() bool {
		select {
		case <-s.ended:
			s.settle()
			over = true
		default:
		}
		at := pattern.FindIndex(s.output()[s.seen:])
		if at != nil {
			s.seen += at[1]
			over = false
		}
		return at != nil || over
	})
	if over {
		return errors.New("the program has ended without it")
	}
	return err
}

func (s *session) never(pattern *regexp.Regexp) error {
	if found := pattern.Find(s.output()); found != nil {
		return fmt.Errorf("it has come: %q", found)
	}
	return nil
}

func (s *session) write(text, how string) error {
	switch how {
	case "key":
		return s.press(text)
	case "keys":
		for i := range len(text) {
			if err := s.press(text[i : i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := s.master.WriteString(text)
	return err
}

func (s *session) signal(sig syscall.Signal, foreground bool) error {
	if foreground {
		return s.signalForeground(sig)
	}
	return s.command.Process.Signal(sig)
}

func (s *session) waitModes(which string) error {
	switch which {
	case "found":
		return s.within("they are not", s.foundAgain)
	case "raw":
		return s.within("they are not", s.raw)
	}
	return fmt.Errorf("no modes %q", which)
}

func (s *session) end(want string) error {
	select {
	case <-s.ended:
	case <-time.After(s.timeout):
		return errors.New("it goes on")
	}
	s.settle()
	if got := strconv.Itoa(s.status()); got != want {
		return fmt.Errorf("it ended with %s", got)
	}
	return nil
}
