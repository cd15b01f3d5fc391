package needs

import (
	"slices"
	"testing"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

func TestCapabilities(t *testing.T) {
	plain := plan.User{UID: 1000, GID: 1000, HostUID: 1000, HostGID: 1000}
	root := plan.User{UID: 1000, GID: 1000}
	mapped := plan.User{UID: 1000, GID: 1000, HostUID: 1000, HostGID: 1000, Mapped: true}
	shown := []plan.Mount{{}, {Idmap: &plan.Owner{}}}
	tests := []struct {
		name   string
		user   plan.User
		mounts []plan.Mount
		want   []string
	}{
		{"same ids", plain, shown[:1], []string{"CHOWN", "SETGID", "SETUID", "SETFCAP"}},
		{"a user namespace of the engine's", mapped, shown[:1], []string{"CHOWN", "SETGID", "SETUID", "SETFCAP", "SYS_ADMIN", "SETPCAP"}},
		{"a host root", root, shown, []string{"CHOWN", "SETGID", "SETUID", "SETFCAP", "SYS_ADMIN", "SETPCAP"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range Capabilities(tt.user, tt.mounts) {
				if c.Reason == "" {
					t.Errorf("%s has no reason", c.Name)
				}
				got = append(got, c.Name)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
