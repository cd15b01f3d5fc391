//go:build linux

package sandbox

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestMaySearch(t *testing.T) {
	m := &Machine{UID: 0, GID: 0}
	tests := []struct {
		name     string
		uid, gid uint32
		mode     uint32
		want     bool
	}{
		{"one's own", 0, 0, 0o700, true},
		{"one's own, closed to oneself", 0, 0, 0o077, false},
		{"another's, closed", 1234, 1234, 0o700, false},
		{"another's, open to all", 1234, 1234, 0o711, true},
		{"another's, open to one's group", 1234, 0, 0o710, true},
		{"another's, closed to one's group alone", 1234, 0, 0o701, false},
		{"another's, open to another group", 1234, 54321, 0o710, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := unix.Stat_t{Uid: tt.uid, Gid: tt.gid, Mode: unix.S_IFDIR | tt.mode}
			if got := m.maySearch(&st, "/nonexistent"); got != tt.want {
				t.Errorf("maySearch(uid %d, gid %d, %o) = %v, want %v", tt.uid, tt.gid, tt.mode, got, tt.want)
			}
		})
	}
}
