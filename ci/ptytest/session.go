package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// session is a program and the terminal that it has for itself.
type session struct {
	command *exec.Cmd
	// master is the person's side, slave the program's; it is kept open so that
	// modes can be asked for after the program's end.
	master, slave *os.File
	// fd is master's: to ask master for it would make its reads block for good.
	fd    int
	found unix.Termios
	ended chan struct{}

	timeout, quiet time.Duration
	keys           bytes.Buffer
	// seen is how much of the output earlier waits have used up.
	seen int

	// listening is held by whoever reads the output, and by nobody else unless
	// nobody shall.
	listening sync.Mutex
	deaf      bool

	mu   sync.Mutex
	text []byte
	last time.Time
}

func open(argv []string, rows, cols uint16) (*session, error) {
	if len(argv) == 0 {
		return nil, fmt.Errorf("no command")
	}
	opened, slave, err := pty.Open()
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	fd, err := unix.FcntlInt(opened.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		// A hangup breaks a read off.
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		return nil, err
	}
	s := &session{
		command: exec.Command(argv[0], argv[1:]...),
		master:  os.NewFile(uintptr(fd), "terminal"), slave: slave, fd: fd,
		ended: make(chan struct{}),
	}
	if err := s.resize(rows, cols); err != nil {
		return nil, err
	}
	found, err := s.modes()
	if err != nil {
		return nil, err
	}
	s.found = *found
	s.command.Stdin, s.command.Stdout, s.command.Stderr = slave, slave, slave
	s.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	go s.listen()
	go func() {
		// The status is asked of the process's state.
		_ = s.command.Wait()
		close(s.ended)
	}()
	return s, nil
}

// close leaves nothing behind, also if the script went wrong in the middle.
func (s *session) close() {
	_ = unix.Kill(-s.command.Process.Pid, unix.SIGKILL)
	_ = s.master.Close()
	_ = s.slave.Close()
}

func (s *session) listen() {
	buf := make([]byte, 32<<10)
	for {
		s.listening.Lock()
		n, err := s.master.Read(buf)
		s.listening.Unlock()
		s.mu.Lock()
		s.text = append(s.text, buf[:n]...)
		s.last = time.Now()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// output returns a copy of all that the terminal showed.
func (s *session) output() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.text)
}

// settle waits until the terminal has been silent for a while.
func (s *session) settle() {
	start := time.Now()
	for {
		s.mu.Lock()
		since := s.last
		s.mu.Unlock()
		if since.Before(start) {
			since = start
		}
		left := s.quiet - time.Since(since)
		if left <= 0 {
			return
		}
		time.Sleep(left)
	}
}

// listenAgain lets the output be read, or not. The program has to be writing
// for the latter, since a read that waits is not broken off.
func (s *session) listenAgain(yes bool) error {
	if s.deaf != yes {
		return fmt.Errorf("it is so already")
	}
	if s.deaf = !yes; yes {
		s.listening.Unlock()
	} else {
		s.listening.Lock()
	}
	return nil
}

// press types one key and notes the answer.
func (s *session) press(key string) error {
	s.settle()
	before := len(s.output())
	if _, err := s.master.WriteString(key); err != nil {
		return err
	}
	s.settle()
	fmt.Fprintf(&s.keys, "%q %q\n", key, s.output()[before:])
	return nil
}

func (s *session) resize(rows, cols uint16) error {
	return unix.IoctlSetWinsize(s.fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
}

func (s *session) modes() (*unix.Termios, error) {
	return unix.IoctlGetTermios(int(s.slave.Fd()), getTermios)
}

func (s *session) foundAgain() bool {
	now, err := s.modes()
	return err == nil && reflect.DeepEqual(*now, s.found)
}

func (s *session) raw() bool {
	now, err := s.modes()
	return err == nil && now.Lflag&(unix.ISIG|unix.ECHO|unix.ICANON) == 0
}

// signalForeground signals the group that has the terminal.
func (s *session) signalForeground(sig syscall.Signal) error {
	group, err := unix.IoctlGetInt(s.fd, unix.TIOCGPGRP)
	if err != nil {
		return err
	}
	return unix.Kill(-group, sig)
}

// status is that of the program, as a shell counts.
func (s *session) status() int {
	ws := s.command.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}
