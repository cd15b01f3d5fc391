package boxinit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/handshake"
	"github.com/agent-cage/agent-cage/libcage/plan"
)

const (
	// engineGroup opens the engine's own directories. The engine, which has the
	// harness's user id so that they own the same files, is its only member.
	engineGroup = 65532
	// engineRun is what the engine writes as long as it runs, engineData what it
	// keeps. The directories above let only the group through.
	engineRun  = needs.RunDir + "/engine/run"
	engineData = needs.EngineDir + "/engine/data"
	engineLock = needs.EngineDir + "/lock"
	engineLog  = needs.RunDir + "/engine.log"
	// nativeSocket is where programs look for an engine that are told nothing.
	nativeSocket = "/run/docker.sock"
	// daemonConfig is read if the image has it.
	daemonConfig = "/etc/docker/daemon.json"
)

// engine is the container engine inside the box.
type engine struct {
	reap     *reaper
	mode     plan.Mode
	user     ids
	env      []string
	listener int
	lock     *os.File
	log      *logFile
}

// prepareEngine makes all that an engine needs and waits for somebody to
// connect to it. A box in which that fails has no engine, and goes on.
func (b *box) prepareEngine() error {
	p := b.run.Plan.Posture
	if p.Start == "" {
		return nil
	}
	e := &engine{reap: b.reap, mode: p.Mode, user: b.harnessIDs}
	if err := b.layOut(e); err != nil {
		return b.say.Progress(handshake.Warning + fmt.Sprintf("the box has no container engine inside: %v", err))
	}
	go e.serve(p.Start == plan.Eager)
	return nil
}

// layOut makes the engine's directories, socket, ids and environment.
func (b *box) layOut(e *engine) error {
	for _, dir := range []string{engineRun, engineData} {
		if err := b.makePrivate(dir, e.owner()); err != nil {
			return err
		}
	}
	if err := b.writeSubordinates(); err != nil {
		return err
	}
	var err error
	if e.lock, err = os.OpenFile(filepath.Join(b.root, engineLock), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	if e.log, err = openLog(filepath.Join(b.root, engineLog)); err != nil {
		return err
	}
	e.env = b.engineEnvironment()
	if e.listener, err = listenAt(needs.EngineSocket, b.harnessIDs); err != nil {
		return err
	}
	if err := os.Symlink(needs.EngineSocket, filepath.Join(b.root, nativeSocket)); err != nil && !os.IsExist(err) {
		return err
	}
	return nil
}

// keptBounding are capabilities that cage-init gives up and programs of the
// engine's may have: nobody else executes such programs.
func (b *box) keptBounding() []uintptr {
	switch b.run.Plan.Posture.Rung {
	case plan.Cap, plan.ProfileCap:
		return []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE}
	}
	return nil
}

// owner is who the engine is.
func (e *engine) owner() ids {
	if e.mode == plan.Rootless {
		return e.user
	}
	return ids{}
}

// makePrivate makes a directory of the owner's below one that only the
// engine's group can pass.
func (b *box) makePrivate(path string, owner ids) error {
	const passable, private = 0o710, 0o700
	gate, err := openDir(b.root, filepath.Dir(path), passable)
	if err != nil {
		return err
	}
	defer unix.Close(gate)
	if err := unix.Fchownat(gate, "", os.Getuid(), engineGroup, unix.AT_EMPTY_PATH); err != nil {
		return fmt.Errorf("%s: %w", filepath.Dir(path), err)
	}
	name := filepath.Base(path)
	if err := unix.Mkdirat(gate, name, private); err != nil && err != unix.EEXIST {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := unix.Fchownat(gate, name, int(owner.uid), int(owner.gid), unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// subordinates is how many ids the engine has for its containers beside its
// own.
const subordinates = 65536

// subordinateStart returns the first of them: an id beyond those that people
// have, in a range that the harness's own is not in.
func subordinateStart(user ids) uint32 {
	start := uint32(100000)
	for user.uid-start < subordinates || user.gid-start < subordinates {
		start += subordinates
	}
	return start
}

// writeSubordinates tells newuidmap and newgidmap which ids the engine may map.
// There is one line: they refuse ranges that come in two.
func (b *box) writeSubordinates() error {
	line := fmt.Appendf(nil, "%s:%d:%d\n", b.account.Name, subordinateStart(b.harnessIDs), subordinates)
	for _, path := range []string{"/etc/subuid", "/etc/subgid"} {
		if err := replaceFile(b.root, path, line, 0o755, 0o644, uint32(os.Getuid()), uint32(os.Getgid())); err != nil {
			return err
		}
	}
	return nil
}

// engineEnvironment has of the run's only what reaches registries. The
// programs on its PATH are the image's, and root's.
func (b *box) engineEnvironment() []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + engineRun,
		"XDG_RUNTIME_DIR=" + engineRun,
	}
	env = append(env, b.trust...)
	for _, kv := range b.run.Env {
		name, _, _ := strings.Cut(kv, "=")
		switch strings.ToLower(name) {
		case "http_proxy", "https_proxy", "no_proxy", "all_proxy":
			env = append(env, kv)
		}
	}
	return env
}

// listenAt makes a socket of the user's.
func listenAt(path string, user ids) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	const backlog = 128
	for _, step := range []func() error{
		func() error { return unix.Bind(fd, &unix.SockaddrUnix{Name: path}) },
		// The mode first: without FOWNER it cannot be changed on another's file.
		func() error { return unix.Chmod(path, 0o600) },
		func() error { return unix.Chown(path, int(user.uid), int(user.gid)) },
		func() error { return unix.Listen(fd, backlog) },
	} {
		if err := step(); err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("%s: %w", path, err)
		}
	}
	return fd, nil
}

const (
	// lockWait is how long a box waits for one that is about to end, since its
	// launcher did.
	lockWait = lifelineDue + grace + time.Second
	lockPoll = 100 * time.Millisecond
)

// takeLock makes the engine's data this box's. Another box may have it from
// before its launcher died.
func (e *engine) takeLock() error {
	for end := time.Now().Add(lockWait); ; time.Sleep(lockPoll) {
		err := unix.Flock(int(e.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || err != unix.EWOULDBLOCK && err != unix.EINTR {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("another box has the project's volume")
		}
	}
}
