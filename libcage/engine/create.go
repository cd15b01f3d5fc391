package engine

import (
	"context"
	"os"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

// Create makes the container that the plan describes and returns its ID and
// the engine's warnings (ContainerCreate). The environment and the command are
// not part of it: they travel with the handshake. A container that the engine
// refuses is a *LaunchError.
func (c *Client) Create(ctx context.Context, p *plan.Plan) (id string, warnings []string, err error) {
	return c.create(ctx, p, containerConfig(p))
}

// root is the user of PID 1.
const root = "0:0"

// createOnce makes a container for a command.
func (c *Client) createOnce(ctx context.Context, p *plan.Plan, argv []string) (id string, err error) {
	config := containerConfig(p)
	config.Entrypoint = argv
	config.OpenStdin, config.StdinOnce, config.AttachStdin = false, false, false
	id, _, err = c.create(ctx, p, config)
	return id, err
}

func (c *Client) create(ctx context.Context, p *plan.Plan, config *container.Config) (id string, warnings []string, err error) {
	var created container.CreateResponse
	err = c.call(ctx, "ContainerCreate", func() (err error) {
		created, err = c.api.ContainerCreate(ctx, config, hostConfig(p), nil, nil, p.Name)
		return err
	})
	if err != nil {
		return "", nil, launchError("create", err, wordsOf(p))
	}
	return created.ID, created.Warnings, nil
}

// containerConfig is the part of the plan that is independent of the host. What
// an image that somebody built on another says of how it starts does not count.
// Standard input is always open, if only for the handshake, and closed for
// good when the launcher's attachment ends.
func containerConfig(p *plan.Plan) *container.Config {
	return &container.Config{
		Image:        p.Image.Ref,
		Entrypoint:   []string{p.Init},
		User:         root,
		Healthcheck:  &container.HealthConfig{Test: []string{"NONE"}},
		Hostname:     p.Hostname,
		Labels:       p.Labels,
		Tty:          p.Terminal.TTY,
		OpenStdin:    true,
		StdinOnce:    true,
		AttachStdin:  true,
		AttachStdout: true,
		AttachStderr: true,
	}
}

// hostConfig is what the box is given of the host. The engine's own init and
// its automatic removal stay off: cage-init reaps, and the launcher reads the
// final state before it removes the box.
func hostConfig(p *plan.Plan) *container.HostConfig {
	noInit := false
	hc := &container.HostConfig{
		Init:        &noInit,
		LogConfig:   container.LogConfig{Type: "none"},
		NetworkMode: container.NetworkMode(p.Network.Mode),
		Runtime:     p.Security.Runtime,
		Privileged:  p.Security.Privileged,
		SecurityOpt: securityOptions(p.Security),
		Mounts:      mounts(p),
		Resources: container.Resources{
			Memory:   p.Limits.MemoryBytes,
			NanoCPUs: p.Limits.NanoCPUs,
		},
	}
	if p.Limits.PidsLimit != 0 {
		limit := p.Limits.PidsLimit
		hc.PidsLimit = &limit
	}
	for _, d := range p.Devices {
		hc.Devices = append(hc.Devices, container.DeviceMapping{PathOnHost: d.Path, PathInContainer: d.Path, CgroupPermissions: "rwm"})
	}
	for _, g := range p.GPUs {
		hc.DeviceRequests = append(hc.DeviceRequests, deviceRequest(g))
	}
	if !p.Security.Privileged {
		hc.CapDrop = []string{"ALL"}
	}
	for _, capability := range p.Security.CapAdd {
		hc.CapAdd = append(hc.CapAdd, capabilityName(capability))
	}
	if p.Security.UnmaskProc {
		// Empty lists; nil would ask for the engine's defaults.
		hc.MaskedPaths = []string{}
		hc.ReadonlyPaths = []string{}
	}
	return hc
}

// deviceRequest is what the docker command makes of --gpus, and of --device with
// a name of CDI's.
func deviceRequest(g plan.GPU) container.DeviceRequest {
	r := container.DeviceRequest{Driver: g.Driver, Count: g.Count, DeviceIDs: g.IDs}
	if g.Driver != plan.CDI {
		r.Capabilities = [][]string{{"gpu"}}
	}
	return r
}

func capabilityName(c plan.Capability) string {
	if c.Name == "ALL" {
		return c.Name
	}
	return "CAP_" + c.Name
}

func securityOptions(s plan.Security) []string {
	var options []string
	if s.Seccomp != "" {
		options = append(options, "seccomp="+s.Seccomp)
	}
	if s.AppArmor != "" {
		options = append(options, "apparmor="+s.AppArmor)
	}
	return options
}

// mounts are the structured ones of the API, in which no character of a path
// is special. The engine creates no missing source of these, unlike for those
// written as source:target. A memory file system is noexec, nosuid and nodev,
// as the engine makes them.
func mounts(p *plan.Plan) []mount.Mount {
	var list []mount.Mount
	for _, m := range p.Mounts {
		list = append(list, mount.Mount{
			Type:     mount.TypeBind,
			Source:   m.Source,
			Target:   m.Target,
			ReadOnly: m.ReadOnly,
		})
	}
	for _, v := range p.Volumes {
		// Nothing of the image is copied into an empty one.
		options := &mount.VolumeOptions{NoCopy: true, Labels: v.Labels}
		list = append(list, mount.Mount{Type: mount.TypeVolume, Source: v.Name, Target: v.Target, VolumeOptions: options})
	}
	for _, t := range p.Tmpfs {
		list = append(list, mount.Mount{
			Type:   mount.TypeTmpfs,
			Target: t.Target,
			TmpfsOptions: &mount.TmpfsOptions{
				SizeBytes: t.SizeBytes,
				Mode:      os.FileMode(t.Mode),
			},
		})
	}
	return list
}
