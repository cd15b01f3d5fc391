package show

import (
	"strings"
	"testing"

	"github.com/agent-cage/agent-cage/libcage/face"
	"github.com/agent-cage/agent-cage/libcage/plan"
)

func TestQuoted(t *testing.T) {
	for want, argv := range map[string][]string{
		`claude -p 'hi there'`: {"claude", "-p", "hi there"},
		`'' 'it'\''s' a=b`:     {"", "it's", "a=b"},
		"'$(x)' '~' ./a-b_c":   {"$(x)", "~", "./a-b_c"},
	} {
		if got := quoted(argv); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestPlanForPeople(t *testing.T) {
	var b strings.Builder
	err := People(&b, &plan.Plan{
		Name:    "toy-box-x",
		Project: plan.Project{Dir: "/p\x1b[31m\nq", Reason: "the current directory"},
		Mounts:  []plan.Mount{{Source: "/a", Target: "/b", ReadOnly: true, Reason: "because"}},
		Command: plan.Command{Argv: []string{"toy"}},
		Env:     []plan.Env{{Name: "GH_TOKEN", Reason: "forwarded"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{"toy-box-x", "/a → /b (read-only)", "because", "GH_TOKEN", "streams, without input", `"/p\x1b[31m\nq"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") || strings.Contains(got, "memory limit") {
		t.Errorf("a control character, or a limit that is not set:\n%s", got)
	}
}

func TestDockerRun(t *testing.T) {
	got := DockerRun(&plan.Plan{
		Name: "n", Hostname: "h", Image: plan.Image{Ref: "img"}, Init: "/pid1",
		Labels:   map[string]string{"b": "2", "a": "1 x"},
		Mounts:   []plan.Mount{{Source: `/a, "b"`, Target: "/c d", ReadOnly: true}},
		Tmpfs:    []plan.Tmpfs{{Target: "/run/x", Mode: 0o755, SizeBytes: 5}},
		Terminal: plan.Terminal{TTY: true},
		Network:  plan.Network{Mode: "host"},
		Limits:   plan.Limits{MemoryBytes: 1 << 20, NanoCPUs: 15e8, PidsLimit: 9},
		Security: plan.Security{CapAdd: []plan.Capability{{Name: "CHOWN"}}, Seccomp: `{"a":1}`, AppArmor: "unconfined", UnmaskProc: true, Runtime: "runc"},
	})
	want := `docker run --interactive --tty --name=n --hostname=h '--label=a=1 x' --label=b=2 --log-driver=none --init=false --entrypoint=/pid1 --user=0:0 --no-healthcheck ` +
		`'--mount=type=bind,"source=/a, ""b""",target=/c d,readonly' --mount=type=tmpfs,target=/run/x,tmpfs-mode=755,tmpfs-size=5 ` +
		`--network=host --memory=1048576 --cpus=1.5 --pids-limit=9 --cap-drop=ALL --cap-add=CHOWN --security-opt=apparmor=unconfined ` +
		`--security-opt=systempaths=unconfined --runtime=runc --security-opt seccomp=<(printf %s '{"a":1}') img`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestJSONHasNamesAndNoProfile(t *testing.T) {
	var b strings.Builder
	p := &plan.Plan{Env: []plan.Env{{Name: "GH_TOKEN", Reason: "r"}}, Security: plan.Security{Seccomp: "SECRETLY LONG", SeccompName: "tight"}}
	if err := Plan(&b, p, face.AsJSON); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, `"GH_TOKEN"`) || !strings.Contains(got, `"seccomp": "tight"`) || strings.Contains(got, "LONG") {
		t.Errorf("got %s", got)
	}
}

func TestGPUsOfTheDockerLine(t *testing.T) {
	line := DockerRun(&plan.Plan{GPUs: []plan.GPU{
		{Count: -1}, {Count: 2}, {IDs: []string{"0", "1"}}, {Driver: plan.CDI, IDs: []string{"amd.com/gpu=0", "amd.com/gpu=1"}},
	}})
	if want := `--gpus=all --gpus=2 '--gpus="device=0,1"' --device=amd.com/gpu=0 --device=amd.com/gpu=1`; !strings.Contains(line, want) {
		t.Errorf("no %s in %s", want, line)
	}
}
