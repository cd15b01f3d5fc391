package host

import (
	"os"
	"syscall"
	"testing"
)

func TestAccessByGroup(t *testing.T) {
	dir := realTempDir(t)
	info, err := os.Stat(dir)
	must(t, err)
	stat := info.Sys().(*syscall.Stat_t)
	group := int(stat.Gid)
	other := &Caller{UID: stat.Uid + 1, GID: stat.Gid + 1}
	for _, tt := range []struct {
		name   string
		mode   os.FileMode
		caller *Caller
		groups []int
		want   Access
	}{
		{"theirs alone", 0o770, other, []int{group}, Read | Write | Enter},
		{"open to read", 0o775, other, []int{7, group}, Write},
		{"open to all", 0o777, other, []int{group}, 0},
		{"not a member", 0o770, other, []int{group + 2}, 0},
		{"the owner", 0o770, &Caller{UID: stat.Uid, GID: stat.Gid + 1}, []int{group}, 0},
		{"the own group", 0o770, &Caller{UID: stat.Uid + 1, GID: stat.Gid}, []int{group}, 0},
		{"root", 0o770, &Caller{UID: 0, GID: stat.Gid + 1}, []int{group}, 0},
	} {
		must(t, os.Chmod(dir, tt.mode))
		if tt.caller.UID == 0 && tt.name != "root" {
			continue
		}
		if got, of := AccessByGroup(dir, tt.caller, tt.groups); got != tt.want || got != 0 && of != stat.Gid {
			t.Errorf("%s: got %03b of %d, want %03b", tt.name, got, of, tt.want)
		}
	}
	if got, _ := AccessByGroup(dir+"/missing", other, []int{group}); got != 0 {
		t.Errorf("missing: got %03b", got)
	}
}
