// Package launch is the life of a run, from the command line to the exit
// status. The calls that it makes to the engine for a box whose image is up
// to date are, in order:
//
//	Ping              4 ms  which API the engine speaks
//	Info                    whether AppArmor confines containers: only if the
//	                        engine was restarted, or is not at a socket
//	ImageList         4 ms  whether the image and its parents are current, all
//	                        of them in one question
//	…                       once for an engine, its kernel and the image: probes
//	                        of what a rootless engine in the box takes
//	ContainerList     1 ms  what dead launchers have left; beside the others
//	ContainerCreate  16 ms
//	ContainerAttach   1 ms  before the start, so that no byte is lost
//	ContainerWait     1 ms  before the start, so that no end is missed
//	ContainerStart  250 ms  namespaces, mounts and PID 1
//	ContainerExec…    3 ms  the lifeline (create and start), beside the harness;
//	                        before it if the box may have few processes only
//	ContainerResize         only if the terminal's size changes, then each time
//	ContainerKill           only to pass a signal on, or to end the box
//	ContainerInspect        only for status 137: was it for want of memory
//	ContainerRemove  10 ms
//
// The times are the shortest seen with Docker 20.10 on two cores that had other
// work to do, for create, start and remove those of the whole phase; the exec
// was measured once. Calls without one were not measured. Whether an image is
// current took 4 ms at the least, the digests of its inputs included, and 20 to
// 50 in the middle, by load. PREFIX_DEBUG=1 tells the times of a launch, and
// ci/acceptance/builds.sh those of a machine.
package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"

	"github.com/agent-cage/agent-cage/images"
	"github.com/agent-cage/agent-cage/internal/version"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
	"github.com/agent-cage/agent-cage/libcage/face"
	"github.com/agent-cage/agent-cage/libcage/host"
	"github.com/agent-cage/agent-cage/libcage/lifecycle"
	"github.com/agent-cage/agent-cage/libcage/payload"
	"github.com/agent-cage/agent-cage/libcage/show"
	"github.com/agent-cage/agent-cage/libcage/state"
)

// System is what a launcher is given of the process that it is.
type System struct {
	// Args are the arguments without the program's name.
	Args    []string
	Environ []string
	// Executable is the launcher's own path, beside which the in-box binaries
	// are looked for.
	Executable            string
	Stdin, Stdout, Stderr *os.File
}

// Process returns the System of this process.
func Process() System {
	exe, err := os.Executable()
	if err != nil {
		exe = os.Args[0]
	}
	return System{
		Args: os.Args[1:], Environ: os.Environ(), Executable: exe,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
}

// Main runs the launcher of a payload and returns its exit status.
func Main(describe func() (*payload.Payload, error), sys System) int {
	p, err := describe()
	if err != nil {
		fmt.Fprintln(sys.Stderr, err)
		return exitstatus.EngineStartFailed.Status()
	}
	stderr := &lines{w: sys.Stderr}
	l := &launcher{payload: p, sys: sys, say: voice{w: stderr, label: p.Label}, stderr: stderr, record: new(record)}
	status, err := l.guarded()
	if err == nil {
		l.leaveReceipt(status, nil)
		return status
	}
	if file := readerGone(err); file != nil {
		l.leaveReceipt(statusOfPipe, nil)
		dieOfPipe(file)
	}
	var name *face.NameError
	if errors.As(err, &name) {
		l.say.progress(err.Error())
	}
	fault := asFault(err)
	l.say.fault(fault)
	l.leaveReceipt(fault.Kind.Status(), fault)
	return fault.Kind.Status()
}

// guarded is main, of which a panic is a fault like any other: the box is gone
// when it arrives here.
func (l *launcher) guarded() (status int, err error) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(l.stderr, "%s", debug.Stack())
			err = exitstatus.Faultf(exitstatus.EngineStartFailed, "this is an error of the launcher's: %v", p)
		}
	}()
	return l.main()
}

// statusOfPipe is that of a program which SIGPIPE ended.
const statusOfPipe = 128 + int(syscall.SIGPIPE)

// asFault gives an error its kind: what is wrong with the request is a usage
// fault, whatever else comes before the harness is the engine's. A full disk is
// nothing that the caller asked for.
func asFault(err error) *exitstatus.Fault {
	if full(err) && exitstatus.AsFault(exitstatus.Usage, err).Kind == exitstatus.Usage {
		return exitstatus.Faultf(exitstatus.EngineStartFailed, "%w: free space on that disk", err)
	}
	var (
		usage    *face.UsageError
		refused  *host.RefusedError
		unusable *state.UnusableError
	)
	if errors.As(err, &usage) || errors.As(err, &refused) || errors.As(err, &unusable) {
		return exitstatus.AsFault(exitstatus.Usage, err)
	}
	return exitstatus.AsFault(exitstatus.EngineStartFailed, err)
}

// full reports whether an error is that of a disk of this machine without room.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// launcher is one launch.
type launcher struct {
	payload *payload.Payload
	sys     System
	say     voice
	// stderr is what say writes to.
	stderr  *lines
	options *face.Options
	// pin is the harness's version; nil if its image pins none.
	pin *images.Pin
	// host says who this process is to its boxes; nil if that is unknown.
	host   *lifecycle.Host
	record *record
}

func (l *launcher) main() (status int, err error) {
	grammar := face.Grammar{Prefix: l.payload.Prefix, DirArgument: l.payload.DirArgument}
	l.options, err = face.Parse(grammar, l.sys.Args, l.getenv)
	if err != nil {
		return 0, err
	}
	l.say.debugging = l.options.Debug
	if builtin := l.payload.Image.Pin; builtin != nil {
		current := l.pins().Current(l.payload.Image.Name, *builtin)
		l.pin = &current
	}
	switch l.options.Action {
	case face.Version:
		_, err = fmt.Fprintf(outlet{l.sys.Stdout}, "%s %s (%s)\n", l.payload.Label, version.String(), l.harness())
		return 0, err
	case face.Help:
		return 0, face.WriteHelp(outlet{l.sys.Stdout}, l.payload.Label, l.payload.Title, grammar)
	}
	return l.run()
}

// run decides the plan and lives it.
func (l *launcher) run() (int, error) {
	signals := listen()
	defer signals.stop()
	ctx, release := signals.context(context.Background())
	defer release()

	l.record.begun = l.options.Action == face.Run
	l.enter("gather")
	facts, err := l.gather(ctx)
	if err != nil {
		return 0, err
	}
	client, err := engine.Open(ctx, engine.Options{Getenv: l.getenv, Home: host.OwnHome(l.getenv), Trace: l.say.call})
	if err != nil {
		return 0, err
	}
	defer client.Close()
	if l.options.Action == face.Upgrade {
		return 0, explain(ctx, l.upgrade(ctx, client, facts, signals))
	}
	defer l.record.reached(client)
	l.enter("plan")
	chain, err := l.chain(facts)
	if err != nil {
		return 0, err
	}
	l.identify(facts)
	planned, err := l.decide(ctx, client, facts, chain)
	if err != nil {
		return 0, explain(ctx, err)
	}
	defer planned.releaseCache()
	if l.options.Action == face.DryRun {
		return 0, show.Plan(outlet{l.sys.Stdout}, planned.decision.Plan, l.options.Form)
	}
	planned.announce()
	l.mentionNews()
	if err := l.seed(facts, planned.decision.Plan.User.Home); err != nil {
		return 0, err
	}
	if err := checkMountpoints(planned.decision.Plan.Mounts); err != nil {
		return 0, err
	}
	l.enter("build")
	if err := l.build(ctx, client, facts, chain); err != nil {
		return 0, explain(ctx, err)
	}
	l.mentionClock(client)
	if err := planned.climb(ctx); err != nil {
		return 0, explain(ctx, err)
	}
	b := &box{launcher: l, engine: client, decision: planned.decision, facts: facts, signals: signals}
	return b.live(ctx, release)
}

func (l *launcher) getenv(name string) string { return lookup(l.sys.Environ, name) }
