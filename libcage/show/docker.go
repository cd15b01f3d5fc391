package show

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

// DockerRun returns the docker command whose container is the one of the plan,
// as a line for bash. The launcher itself talks to the engine's API; this is
// to read, to compare and to repeat. The box that it makes has no harness and
// ends by itself, since all of that comes with the handshake.
func DockerRun(p *plan.Plan) string {
	var l line
	l.words("docker", "run", "--interactive")
	if p.Terminal.TTY {
		l.words("--tty")
	}
	l.flag("--name", p.Name)
	l.flag("--hostname", p.Hostname)
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		l.flag("--label", key+"="+p.Labels[key])
	}
	l.flag("--log-driver", "none")
	l.flag("--init", "false")
	l.flag("--entrypoint", p.Init)
	l.flag("--user", "0:0")
	l.words("--no-healthcheck")
	for _, m := range p.Mounts {
		l.flag("--mount", bind(m))
	}
	for _, v := range p.Volumes {
		l.flag("--mount", volume(v))
	}
	for _, d := range p.Devices {
		l.flag("--device", d.Path)
	}
	for _, g := range p.GPUs {
		l.gpu(g)
	}
	for _, m := range p.Tmpfs {
		l.flag("--mount", tmpfs(m))
	}
	if p.Network.Mode != "" {
		l.flag("--network", p.Network.Mode)
	}
	l.limits(p.Limits)
	l.security(p.Security)
	l.words(p.Image.Ref)
	return l.String()
}

// line is a command line for bash.
type line struct{ strings.Builder }

// words adds words that stay as they are.
func (l *line) words(words ...string) {
	for _, w := range words {
		l.raw(quoted([]string{w}))
	}
}

func (l *line) flag(name, value string) { l.words(name + "=" + value) }

// raw adds what the shell is to expand.
func (l *line) raw(word string) {
	if l.Len() > 0 {
		l.WriteByte(' ')
	}
	l.WriteString(word)
}

func (l *line) gpu(g plan.GPU) {
	switch {
	case g.Driver == plan.CDI:
		for _, id := range g.IDs {
			l.flag("--device", id)
		}
	case len(g.IDs) > 0:
		l.flag("--gpus", csv([]string{"device=" + strings.Join(g.IDs, ",")}))
	case g.Count < 0:
		l.flag("--gpus", "all")
	default:
		l.flag("--gpus", strconv.Itoa(g.Count))
	}
}

func (l *line) limits(limits plan.Limits) {
	if n := limits.MemoryBytes; n > 0 {
		l.flag("--memory", strconv.FormatInt(n, 10))
	}
	if n := limits.NanoCPUs; n > 0 {
		l.flag("--cpus", strconv.FormatFloat(float64(n)/1e9, 'f', -1, 64))
	}
	if n := limits.PidsLimit; n > 0 {
		l.flag("--pids-limit", strconv.FormatInt(n, 10))
	}
}

func (l *line) security(s plan.Security) {
	if s.Privileged {
		l.words("--privileged")
	} else {
		l.flag("--cap-drop", "ALL")
	}
	for _, c := range s.CapAdd {
		l.flag("--cap-add", c.Name)
	}
	if s.AppArmor != "" {
		l.flag("--security-opt", "apparmor="+s.AppArmor)
	}
	if s.UnmaskProc {
		l.flag("--security-opt", "systempaths=unconfined")
	}
	if s.Runtime != "" {
		l.flag("--runtime", s.Runtime)
	}
	if s.Seccomp != "" {
		// The command wants a file: a pipe of the shell's is one.
		l.raw("--security-opt seccomp=<(printf %s " + quoted([]string{s.Seccomp}) + ")")
	}
}

func bind(m plan.Mount) string {
	fields := []string{"type=bind", "source=" + m.Source, "target=" + m.Target}
	if m.ReadOnly {
		fields = append(fields, "readonly")
	}
	return csv(fields)
}

func volume(v plan.Volume) string {
	fields := []string{"type=volume"}
	if v.Name != "" {
		fields = append(fields, "source="+v.Name)
	}
	fields = append(fields, "target="+v.Target, "volume-nocopy")
	for _, key := range slices.Sorted(maps.Keys(v.Labels)) {
		fields = append(fields, "volume-label="+key+"="+v.Labels[key])
	}
	return csv(fields)
}

func tmpfs(m plan.Tmpfs) string {
	fields := []string{"type=tmpfs", "target=" + m.Target, "tmpfs-mode=" + strconv.FormatUint(uint64(m.Mode), 8)}
	if m.SizeBytes > 0 {
		fields = append(fields, "tmpfs-size="+strconv.FormatInt(m.SizeBytes, 10))
	}
	return csv(fields)
}

// csv joins the fields of a --mount, which docker reads as a line of CSV.
func csv(fields []string) string {
	for i, f := range fields {
		if strings.ContainsAny(f, ",\"\r\n") || strings.HasPrefix(f, " ") {
			fields[i] = `"` + strings.ReplaceAll(f, `"`, `""`) + `"`
		}
	}
	return strings.Join(fields, ",")
}
