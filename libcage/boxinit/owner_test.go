//go:build linux

package boxinit_test

import (
	"os"
	"syscall"
	"testing"
)

// owner returns who owns path on the host.
func owner(t *testing.T, path string) (uid, gid uint32) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	return st.Uid, st.Gid
}
