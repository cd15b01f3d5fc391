package launch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-cage/agent-cage/libcage/host"
	"github.com/agent-cage/agent-cage/libcage/plan"
)

func TestCheckMountpoints(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "there", "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	project := plan.Mount{Source: dir, Target: "/p"}
	tests := []struct {
		name    string
		mounts  []plan.Mount
		refused bool
	}{
		{"side by side", []plan.Mount{project, {Source: "/x", Target: "/pp/q"}}, false},
		{"its place is there", []plan.Mount{{Source: "/x", Target: "/p/there/deep"}, project}, false},
		{"its place is missing", []plan.Mount{project, {Source: "/x", Target: "/p/gone"}}, true},
		{"deep below", []plan.Mount{project, {Source: "/x", Target: "/p/there/gone/deep"}}, true},
		{"the innermost counts", []plan.Mount{project, {Source: filepath.Join(dir, "there"), Target: "/p/there"}, {Source: "/x", Target: "/p/there/deep"}}, false},
	}
	for _, tt := range tests {
		err := checkMountpoints(tt.mounts)
		var refused *host.RefusedError
		if got := errors.As(err, &refused); got != tt.refused || (err != nil) != tt.refused {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
