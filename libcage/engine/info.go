package engine

import (
	"context"
	"strings"
	"time"

	"github.com/docker/docker/api/types/system"
)

// Info is what an engine says of itself.
type Info struct {
	// ID is unique to the engine; it changes when its data directory does.
	ID string
	// Name is the host name of the engine's machine.
	Name string
	// ServerVersion is the engine's version, APIVersion the one spoken with it.
	ServerVersion string
	APIVersion    string
	// OS and Arch are in Go's terms: linux, amd64.
	OS   string
	Arch string
	// OperatingSystem is the distribution, for people.
	OperatingSystem string
	KernelVersion   string
	CgroupVersion   string
	StorageDriver   string
	// Runtimes are the names of the OCI runtimes.
	Runtimes       []string
	DefaultRuntime string
	// AppArmor, Seccomp, UserNS and Rootless are the security options.
	AppArmor bool
	Seccomp  bool
	UserNS   bool
	Rootless bool
	// SecurityOptions are all of them as the engine has them.
	SecurityOptions []string
	// MemoryBytes and CPUs are the size of the engine's machine.
	MemoryBytes int64
	CPUs        int
	// Warnings are about limits that the engine cannot enforce.
	Warnings []string
	// RootDir is the engine's data directory, on its own machine.
	RootDir string
	// Time is the engine's clock when it answered; zero if it does not say.
	Time time.Time
}

// Info asks the engine about itself (Info).
func (c *Client) Info(ctx context.Context) (Info, error) {
	var raw system.Info
	err := c.call(ctx, "Info", func() (err error) {
		raw, err = c.api.Info(ctx)
		return err
	})
	if err != nil {
		return Info{}, err
	}
	info := Info{
		ID:              raw.ID,
		Name:            raw.Name,
		ServerVersion:   raw.ServerVersion,
		APIVersion:      c.api.ClientVersion(),
		OS:              raw.OSType,
		Arch:            goArch(raw.Architecture),
		OperatingSystem: raw.OperatingSystem,
		KernelVersion:   raw.KernelVersion,
		CgroupVersion:   raw.CgroupVersion,
		StorageDriver:   raw.Driver,
		DefaultRuntime:  raw.DefaultRuntime,
		SecurityOptions: raw.SecurityOptions,
		MemoryBytes:     raw.MemTotal,
		CPUs:            raw.NCPU,
		Warnings:        raw.Warnings,
		RootDir:         raw.DockerRootDir,
		Time:            parseTime(raw.SystemTime),
	}
	for name := range raw.Runtimes {
		info.Runtimes = append(info.Runtimes, name)
	}
	for _, option := range raw.SecurityOptions {
		switch securityOptionName(option) {
		case "apparmor":
			info.AppArmor = true
		case "seccomp":
			info.Seccomp = true
		case "userns":
			info.UserNS = true
		case "rootless":
			info.Rootless = true
		}
	}
	return info, nil
}

// securityOptionName returns seccomp for name=seccomp,profile=default.
func securityOptionName(option string) string {
	for field := range strings.SplitSeq(option, ",") {
		if name, ok := strings.CutPrefix(field, "name="); ok {
			return name
		}
	}
	return ""
}

// goArch translates the kernel's name of an architecture.
func goArch(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	case "armv7l", "armv6l":
		return "arm"
	case "i386", "i686":
		return "386"
	}
	return machine
}
