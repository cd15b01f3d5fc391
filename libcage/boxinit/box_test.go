//go:build linux

package boxinit_test

import (
	"testing"

	"github.com/agent-cage/agent-cage/libcage/handshake"
)

func TestOne(t *testing.T) {
	e := testBox{Run: sh(`id; pwd; env; ls -la ~; cat /proc/self/status | grep -E 'Cap|Sig|NoNew|Seccomp|Groups|Umask'; cat /proc/self/uid_map; ls -la /proc/self/fd; ulimit -n -H; ulimit -n; cat >&2; ls -la /run/agent-cage; cat /proc/1/status | grep -E 'Cap|Threads|RSS'; cat /proc/1/environ; cat /proc/self/oom_score_adj; readlink /proc/self/fd/*; echo hi >/dev/stdout; ps -ef; exit 3`), Typed: "typed"}
	e.Run.Trace = true
	got := e.run(t)
	t.Logf("%+v\n%s\n%s", got, got.Out, got.Err)
	_ = handshake.Started
}
