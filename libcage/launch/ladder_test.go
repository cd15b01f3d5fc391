package launch

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/agent-cage/agent-cage/images"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/payload"
	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/posture"
)

// liveProber probes with the engine that the environment names.
func liveProber(t *testing.T) (*prober, posture.Host) {
	t.Helper()
	client, err := engine.Open(t.Context(), engine.Options{Getenv: os.Getenv, Home: os.Getenv("HOME")})
	if err != nil {
		t.Skipf("no engine: %v", err)
	}
	t.Cleanup(func() { client.Close() })
	info, err := client.Info(t.Context())
	if err != nil {
		t.Skipf("no engine: %v", err)
	}
	if _, err := client.Image(t.Context(), images.Cage); err != nil {
		t.Skipf("the engine has no %s: %v", images.Cage, err)
	}
	l := &launcher{payload: &payload.Payload{Label: "ladder-test"}}
	return &prober{launcher: l, client: client, image: images.Cage}, posture.Host{AppArmor: info.AppArmor, UserNamespace: info.UserNS || info.Rootless}
}

// confined is a prober whose containers get another system call filter.
type confined struct {
	*prober
	profile string
}

func (c confined) Try(ctx context.Context, s plan.Security) error {
	s.Seccomp = c.profile
	return c.prober.Try(ctx, s)
}

func climbLive(t *testing.T, p posture.Prober, h posture.Host) *posture.Ladder {
	t.Helper()
	l, err := posture.Climb(t.Context(), p, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", *l)
	return l
}

// An engine's own filter lets nobody make a user namespace, so that no rung
// works without SYS_ADMIN, and an ordinary user has none with it.
func TestLadderUnderTheEnginesOwnFilter(t *testing.T) {
	p, h := liveProber(t)
	l := climbLive(t, confined{p, ""}, h)
	if l.Rung != plan.Unsupported || len(l.Failures) != len(posture.Rungs()) {
		t.Fatalf("rung %s", l.Rung)
	}
	for _, f := range l.Failures {
		if f.Reason == "" {
			t.Errorf("%s has no reason", f.Rung)
		}
	}
	if first := l.Failures[0].Reason; !strings.Contains(first, "cannot make a user namespace") {
		t.Errorf("plain: %s", first)
	}
}

// With newuidmap as distributions have it, setuid root, only SYS_ADMIN in the
// bounding set helps.
func TestLadderWithSetuidHelpers(t *testing.T) {
	p, h := liveProber(t)
	const ref = "agent-cage-ladder-test"
	build := exec.CommandContext(t.Context(), "docker", "build", "-q", "-t", ref, "-")
	build.Stdin = strings.NewReader("FROM " + images.Cage + "\nRUN setcap -r /usr/bin/newuidmap && setcap -r /usr/bin/newgidmap && chmod u+s /usr/bin/newuidmap /usr/bin/newgidmap\n")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("docker build: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.CommandContext(context.Background(), "docker", "rmi", "-f", ref).Run() })
	p.image = ref
	l := climbLive(t, p, h)
	if len(l.Failures) == 0 || !strings.Contains(l.Failures[0].Reason, "range of ids cannot be mapped") {
		t.Errorf("plain: %+v", l.Failures)
	}
	if l.Rung != plan.Cap && l.Rung != plan.ProfileCap {
		t.Errorf("rung %s", l.Rung)
	}
}

func TestLadderOfTheImage(t *testing.T) {
	p, h := liveProber(t)
	if l := climbLive(t, p, h); !l.Works() {
		t.Errorf("no rung works: %+v", l.Failures)
	}
}
