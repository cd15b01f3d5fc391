package host

import (
	"os"
	"os/user"
	"strconv"
	"testing"
)

func TestBehindSudo(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	nobody, err := user.Lookup("daemon")
	must(t, err)
	uid, err := strconv.Atoi(nobody.Uid)
	must(t, err)
	theirs, ours := t.TempDir(), t.TempDir()
	must(t, os.Chown(theirs, uid, -1))
	env := func(v string) func(string) string { return func(string) string { return v } }
	root := &Caller{Home: "/root"}

	got := BehindSudo(root, theirs, env(nobody.Uid))
	if got == nil || int(got.UID) != uid || got.Name != "daemon" || got.Home == "/root" {
		t.Errorf("got %+v, want daemon", got)
	}
	for name, got := range map[string]*Caller{
		"a project of root's":   BehindSudo(root, ours, env(nobody.Uid)),
		"no sudo":               BehindSudo(root, theirs, env("")),
		"root through sudo":     BehindSudo(root, ours, env("0")),
		"nonsense":              BehindSudo(root, theirs, env("-1")),
		"an ordinary user":      BehindSudo(&Caller{UID: 7}, theirs, env(nobody.Uid)),
		"a user nobody knows":   BehindSudo(root, theirs, env("4000000")),
		"a project that is not": BehindSudo(root, theirs+"/x", env(nobody.Uid)),
	} {
		if got != nil {
			t.Errorf("%s: got %+v, want nobody", name, got)
		}
	}
}
