package boxinit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/plan"
)

const (
	// daemonCommand is that of cage-init which becomes the engine's daemon.
	daemonCommand = "daemon"
	// passedFd is the listening socket on its way to the daemon: rootlesskit
	// puts descriptors of its own below.
	passedFd = 10
	// listenFd is where the daemon looks for it.
	listenFd = 3
	// restPause is how long after an engine's end the next one starts.
	restPause = 2 * time.Second
)

// becomeDaemon executes the daemon with the socket where it expects it. The
// variable names the process that the socket is for, which rootlesskit, whose
// child this is, cannot know.
func becomeDaemon(argv []string) error {
	if err := unix.Dup3(passedFd, listenFd, 0); err != nil {
		return fmt.Errorf("the engine's socket: %w", err)
	}
	unix.CloseOnExec(passedFd)
	env := append(os.Environ(), "LISTEN_FDS=1", "LISTEN_PID="+strconv.Itoa(os.Getpid()))
	return &os.PathError{Op: "exec", Path: argv[0], Err: syscall.Exec(argv[0], argv, env)}
}

// command is the engine's.
func (e *engine) command() []string {
	daemon := []string{
		needs.Init, daemonCommand, "/usr/sbin/dockerd",
		"--host=fd://", "--data-root=" + engineData, "--exec-root=" + engineRun + "/exec",
		"--pidfile=" + engineRun + "/dockerd.pid", "--log-level=warn",
	}
	if _, err := os.Stat(daemonConfig); err == nil {
		daemon = append(daemon, "--config-file="+daemonConfig)
	}
	if e.mode != plan.Rootless {
		return daemon
	}
	return append([]string{
		"/usr/bin/rootlesskit", "--state-dir=" + engineRun + "/kit",
		"--net=slirp4netns", "--mtu=65520", "--slirp4netns-sandbox=auto", "--slirp4netns-seccomp=auto",
		// What listens in the box is not for its containers.
		"--disable-host-loopback", "--port-driver=builtin",
		"--copy-up=/etc", "--copy-up=/run",
	}, daemon...)
}

// serve starts an engine whenever somebody is there for it.
func (e *engine) serve(eager bool) {
	for {
		if !eager {
			waitReadable(e.listener)
		}
		eager = false
		err := e.run()
		e.refuse(err)
		time.Sleep(restPause)
	}
}

// run starts the engine and returns why it has ended.
func (e *engine) run() error {
	if err := e.takeLock(); err != nil {
		return err
	}
	argv := e.command()
	var sys syscall.SysProcAttr
	sys.Setsid = true
	if owner := e.owner(); owner.uid != 0 {
		sys.Credential = &syscall.Credential{Uid: owner.uid, Gid: owner.gid, Groups: []uint32{engineGroup}}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	defer writer.Close()
	files := make([]uintptr, passedFd+1)
	for i := range files {
		files[i] = null.Fd()
	}
	files[1], files[2], files[passedFd] = writer.Fd(), writer.Fd(), uintptr(e.listener)
	_, ended, err := e.reap.start(argv[0], argv, &syscall.ProcAttr{Dir: "/", Env: e.env, Files: files, Sys: &sys})
	if err != nil {
		reader.Close()
		return fmt.Errorf("%s: %w", filepath.Base(argv[0]), err)
	}
	writer.Close()
	go e.log.take(reader)
	for ws := range ended {
		if !ws.Stopped() {
			return errors.New("it " + endText(ws))
		}
	}
	return nil
}

func endText(ws unix.WaitStatus) string {
	if ws.Signaled() {
		return "died of signal " + unix.SignalName(ws.Signal())
	}
	return fmt.Sprintf("ended with status %d", ws.ExitStatus())
}

// waitReadable waits for somebody to connect, whom it leaves to the engine.
func waitReadable(fd int) {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if n > 0 || err != nil && err != unix.EINTR {
			return
		}
	}
}
