package face

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

// flag is one that the launcher takes out of the command line.
type flag struct {
	name string
	// value names the flag's value in the help; empty means it takes none.
	value string
	// optional says that a value comes behind an equals sign or not at all.
	optional bool
	help     string
	set      func(*Options, string) error
	// wide reports whether a value takes part of the wall away; nil is never.
	wide func(string) bool
}

func (f flag) widens(value string) bool { return f.wide != nil && f.wide(value) }

func always(string) bool { return true }

var flags = []flag{
	{
		name: "--engine", value: "MODE",
		help: "the container engine inside: " + strings.Join(modes(), ", ") + " (default auto)",
		set:  func(o *Options, v string) (err error) { o.Engine, err = engineMode(v); return err },
		wide: func(v string) bool { return v == string(plan.PrivilegedDind) },
	},
	{
		name: "--engine-start", value: "WHEN",
		help: "when the engine inside starts: on-demand (default), or eager",
		set:  func(o *Options, v string) (err error) { o.EngineStart, err = engineStart(v); return err },
	},
	{
		name: "--engine-cache", value: "on|off",
		help: "keep what the engine inside makes for the project's next box (default on)",
		set:  func(o *Options, v string) (err error) { o.EngineCache, err = onOff(v); return err },
	},
	{
		name: "--name", value: "NAME",
		help: "the box's name (default LABEL-PROJECT-RANDOM)",
		set:  func(o *Options, v string) (err error) { o.Name, err = containerName(v); return err },
	},
	{
		name: "--name-file", value: "FILE",
		help: "a file that holds the box's name while the box can be addressed",
		set:  func(o *Options, v string) (err error) { o.NameFile, err = path(v); return err },
	},
	{
		name: "--network", value: "MODE",
		help: "the box's network, as docker run takes it (default: the engine's)",
		set:  func(o *Options, v string) (err error) { o.Network, err = network(v); return err },
		wide: func(v string) bool { return v == "host" || strings.HasPrefix(v, "container:") },
	},
	{
		name: "--memory", value: "BYTES",
		help: "memory limit, with unit b, k, m or g",
		set: func(o *Options, v string) (err error) {
			o.Limits.MemoryBytes, err = memory(v)
			return err
		},
	},
	{
		name: "--cpus", value: "NUMBER",
		help: "how many CPUs, 1.5 for one and a half",
		set:  func(o *Options, v string) (err error) { o.Limits.NanoCPUs, err = cpus(v); return err },
	},
	{
		name: "--pids-limit", value: "NUMBER",
		help: "how many processes and threads, 32 at least",
		set:  func(o *Options, v string) (err error) { o.Limits.PidsLimit, err = pids(v); return err },
	},
	{
		name: "--timeout", value: "DURATION",
		help: "end the box after that time, 90s or 1h30m, with status 124",
		set:  func(o *Options, v string) (err error) { o.Limits.Timeout, err = duration(v); return err },
	},
	{
		name: "--gpus", value: "GPUS",
		help: "GPUs, as docker run takes them: all, 2, device=0,1; or names of CDI, or /dev/dri and /dev/kfd",
		set:  func(o *Options, v string) (err error) { o.GPUs, o.GPUDevices, err = gpus(v); return err },
	},
	{
		name: "--kvm",
		help: "give the box /dev/kvm, for virtual machines in it",
		set:  func(o *Options, _ string) error { o.KVM = true; return nil },
		wide: always,
	},
	{
		name: "--user", value: "UID[:GID]",
		help: "who the harness is, in the box and on the host's files",
		set:  func(o *Options, v string) (err error) { o.User, err = user(v); return err },
		wide: always,
	},
	{
		name: "--dockerfile", value: "PATH",
		help: "a Dockerfile FROM the box's image, with what you miss in it",
		set:  func(o *Options, v string) (err error) { o.Dockerfile, err = path(v); return err },
		wide: always,
	},
	{
		name: "--exec",
		help: "run the arguments in the box instead of the harness",
		set:  func(o *Options, _ string) error { o.Exec = true; return nil },
	},
	{
		name: "--dry-run", value: "json|docker", optional: true,
		help: "print the plan, for people, as JSON or as a docker command, and run nothing",
		set:  func(o *Options, v string) (err error) { o.Action = DryRun; o.Form, err = form(v); return err },
	},
	{
		name: "--upgrade",
		help: "move to the newest version of the harness, build its image and end",
		set:  func(o *Options, _ string) error { o.Action = Upgrade; return nil },
	},
	{
		name: "--version",
		help: "print the launcher's version",
		set:  func(o *Options, _ string) error { o.Action = Version; return nil },
	},
	{
		name: "--help",
		help: "print this",
		set:  func(o *Options, _ string) error { o.Action = Help; return nil },
	},
}

// later are flags of the launcher that this version has not got. They are
// refused, since the harness would take them for something else.
var later = []string{
	"--no-ssh", "--gate", "--unprotect", "--ollama",
}

func modes() []string {
	return []string{string(plan.Auto), string(plan.Sysbox), string(plan.Rootless), string(plan.PrivilegedDind), string(plan.None)}
}

func engineMode(v string) (plan.Mode, error) {
	if !slices.Contains(modes(), v) {
		return "", fmt.Errorf("%q is none of %s", v, strings.Join(modes(), ", "))
	}
	return plan.Mode(v), nil
}

func engineStart(v string) (plan.Start, error) {
	if s := plan.Start(v); s == plan.OnDemand || s == plan.Eager {
		return s, nil
	}
	return "", fmt.Errorf("%q is neither %s nor %s", v, plan.OnDemand, plan.Eager)
}

func onOff(v string) (bool, error) {
	if v != "on" && v != "off" {
		return false, fmt.Errorf("%q is neither on nor off", v)
	}
	return v == "on", nil
}

// nameForm is Docker's rule for the name of a container.
var nameForm = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]+$`)

func containerName(v string) (string, error) {
	if !nameForm.MatchString(v) {
		return "", &NameError{v}
	}
	return v, nil
}

func network(v string) (string, error) {
	if v == "" {
		return "", errors.New("needs a network: bridge, host, none or the name of one")
	}
	return v, nil
}

func memory(v string) (int64, error) {
	n, err := units.RAMInBytes(v)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is no size: give a number of bytes, or one with unit b, k, m or g", v)
	}
	return n, nil
}

func cpus(v string) (int64, error) {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n > 0) || n > math.MaxInt64/1e9 {
		return 0, fmt.Errorf("%q is no number of CPUs", v)
	}
	return int64(n * 1e9), nil
}

// leastPids is what a box needs for itself, with the threads of its init.
const leastPids = 32

func pids(v string) (int64, error) {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is no number of processes", v)
	}
	if n < leastPids {
		return 0, fmt.Errorf("%d processes are too few: a box needs %d for itself", n, leastPids)
	}
	return n, nil
}

func path(v string) (string, error) {
	if v == "" {
		return "", errors.New("needs a path")
	}
	return v, nil
}

func form(v string) (Form, error) {
	f := Form(v)
	if f != ForPeople && f != AsJSON && f != AsDocker {
		return "", fmt.Errorf("%q is neither %s nor %s", v, AsJSON, AsDocker)
	}
	return f, nil
}

func duration(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no time: give one like 90s, 5m or 1h30m", v)
	}
	return d, nil
}

func user(v string) (*User, error) {
	uidText, gidText, both := strings.Cut(v, ":")
	uid, err := id(uidText)
	if err != nil {
		return nil, err
	}
	if !both {
		return &User{UID: uid, GID: uid}, nil
	}
	gid, err := id(gidText)
	if err != nil {
		return nil, err
	}
	return &User{UID: uid, GID: gid}, nil
}

// id reads a numeric id. The harness is never root, and the two highest ids
// mean "none" to the kernel.
func id(v string) (uint32, error) {
	n, err := strconv.ParseUint(v, 10, 32)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no numeric id", v)
	case n == 0:
		return 0, errors.New("the harness is never root: give an id above 0")
	case n >= math.MaxUint32-1:
		return 0, fmt.Errorf("%q is no id that a file can have", v)
	}
	return uint32(n), nil
}
