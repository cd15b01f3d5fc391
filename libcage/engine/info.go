package engine

import (
	"context"
	"strings"
	"time"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
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

// Image is an image of the engine's store.
type Image struct {
	// Ref is the reference that it was asked for by.
	Ref     string
	ID      string
	Labels  map[string]string
	Created time.Time
	// SizeBytes is that of all its layers.
	SizeBytes int64
}

// Images looks up references in the engine's store, all in one call
// (ImageList). What the store does not have is not in the result.
func (c *Client) Images(ctx context.Context, refs ...string) (map[string]Image, error) {
	filter := filters.NewArgs()
	for _, ref := range refs {
		filter.Add("reference", ref)
	}
	var list []image.Summary
	err := c.call(ctx, "ImageList", func() (err error) {
		list, err = c.api.ImageList(ctx, image.ListOptions{Filters: filter})
		return err
	})
	if err != nil {
		return nil, err
	}
	byTag := map[string]image.Summary{}
	for _, summary := range list {
		for _, tag := range summary.RepoTags {
			byTag[tag] = summary
		}
	}
	found := map[string]Image{}
	for _, ref := range refs {
		if summary, ok := byTag[tagged(ref)]; ok {
			found[ref] = Image{
				Ref:       ref,
				ID:        summary.ID,
				Labels:    summary.Labels,
				Created:   time.Unix(summary.Created, 0),
				SizeBytes: summary.Size,
			}
		}
	}
	return found, nil
}

// tagged completes a reference without a tag.
func tagged(ref string) string {
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	if strings.ContainsAny(name, ":@") {
		return ref
	}
	return ref + ":latest"
}

// Image looks up one reference (ImageList). An image that the store does not
// have is a *ResponseError that is ErrNotFound.
func (c *Client) Image(ctx context.Context, ref string) (Image, error) {
	images, err := c.Images(ctx, ref)
	if err != nil {
		return Image{}, err
	}
	img, ok := images[ref]
	if !ok {
		return Image{}, &ResponseError{Call: "ImageList", Message: "no such image: " + ref, kind: ErrNotFound}
	}
	return img, nil
}
