//go:build linux

package boxinit

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestAccounts(t *testing.T) {
	image := accounts{
		passwd: []byte("root:x:0:0:root:/root:/bin/bash\nubuntu:x:1000:1000::/home/ubuntu:/bin/sh\nnode:x:1001:1001::/home/node:/bin/sh"),
		group:  []byte("root:x:0:\nstaff:x:50:\nubuntu:x:1000:\n"),
		shadow: []byte("root:*:::::::\n"),
	}
	tests := []struct {
		name                  string
		want                  account
		gotName, gotGroup     string
		passwd, group, shadow string // what must be a line of each
	}{
		{"new", account{Name: "zoe", UID: 501, GID: 20}, "zoe", "zoe", "zoe:x:501:20::/h:/s", "zoe:x:20:", "zoe:!:::::::"},
		{"group of the image", account{Name: "zoe", UID: 501, GID: 50}, "zoe", "staff", "zoe:x:501:50::/h:/s", "staff:x:50:", "zoe:!:::::::"},
		{"uid of the image", account{Name: "zoe", UID: 1000, GID: 1000}, "zoe", "ubuntu", "zoe:x:1000:1000::/h:/s", "ubuntu:x:1000:", "zoe:!:::::::"},
		{"name of the image", account{Name: "node", UID: 1000, GID: 1000}, "agent", "ubuntu", "agent:x:1000:1000::/h:/s", "ubuntu:x:1000:", "agent:!:::::::"},
		{"host root", account{Name: "root", UID: 1000, GID: 7}, "agent", "agent", "agent:x:1000:7::/h:/s", "agent:x:7:", "agent:!:::::::"},
		{"same account", account{Name: "ubuntu", UID: 1000, GID: 1000}, "ubuntu", "ubuntu", "ubuntu:x:1000:1000::/h:/s", "ubuntu:x:1000:", "ubuntu:!:::::::"},
		{"injection", account{Name: "x:0:0::/:/bin/sh\ny", UID: 501, GID: 501}, "agent", "agent", "agent:x:501:501::/h:/s", "agent:x:501:", "agent:!:::::::"},
		{"a number", account{Name: "1000", UID: 501, GID: 501}, "agent", "agent", "agent:x:501:501::/h:/s", "agent:x:501:", "agent:!:::::::"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Home, tt.want.Shell = "/h", "/s"
			files, got := image.with(tt.want)
			if got.Name != tt.gotName || got.Group != tt.gotGroup {
				t.Errorf("account %q, group %q", got.Name, got.Group)
			}
			for _, c := range []struct {
				file []byte
				line string
			}{{files.passwd, tt.passwd}, {files.group, tt.group}, {files.shadow, tt.shadow}} {
				if n := strings.Count("\n"+string(c.file), "\n"+c.line+"\n"); n != 1 {
					t.Errorf("%d lines %q in\n%s", n, c.line, c.file)
				}
			}
			// The first account with the uid is the one that it is shown as.
			for line := range strings.Lines(string(files.passwd)) {
				if f := strings.Split(line, ":"); f[2] == strings.Split(tt.passwd, ":")[2] {
					if f[0] != tt.gotName {
						t.Errorf("the uid is shown as %s", f[0])
					}
					break
				}
			}
			again, _ := files.with(tt.want)
			if diff := cmp.Diff(string(files.passwd), string(again.passwd)); diff != "" {
				t.Errorf("not idempotent:\n%s", diff)
			}
		})
	}
}

func TestParseMounts(t *testing.T) {
	table, err := parseMounts([]byte("1 0 0:1 / / rw - overlay overlay rw\n" +
		"2 1 8:1 /a\\040b /home/z\\134\\040e rw,noatime shared:3 master:1 - ext4 /dev/x rw\n" +
		"3 2 0:5 / /home/z\\134\\040e/sub ro - tmpfs t rw\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := mountTable{
		{Root: "/", Point: "/", FSType: "overlay"},
		{Root: "/a b", Point: `/home/z\ e`, FSType: "ext4"},
		{Root: "/", Point: `/home/z\ e/sub`, FSType: "tmpfs"},
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Error(diff)
	}
	for path, own := range map[string]bool{"/home": true, `/home/z\ e`: false, `/home/z\ e/sub/x`: false, `/home/z\ ex`: true} {
		if table.ownLayer(path) != own {
			t.Errorf("ownLayer(%q) is %v", path, !own)
		}
	}
	if _, err := parseMounts([]byte("nonsense\n")); err == nil {
		t.Error("nonsense was parsed")
	}
}

func TestEngineSocket(t *testing.T) {
	tests := []struct {
		name, socket, point, root string
		want                      string
	}{
		{"the socket itself", "/x", "/x", "/run/docker.sock", "/x"},
		{"its directory", "/host/docker.sock", "/host", "/run", "/host/docker.sock"},
		{"a level above", "/host/run/containerd/containerd.sock", "/host", "/var", "/host/run/containerd/containerd.sock"},
		{"a user's", "/r/user/1000/podman/podman.sock", "/r", "/run", "/r/user/1000/podman/podman.sock"},
		{"every user's", "/u/1000/docker.sock", "/u", "/user", "/u/1000/docker.sock"},
		{"a home", "/home/z/.docker/run/docker.sock", "/home/z", "/home/z", "/home/z/.docker/run/docker.sock"},
		{"odd name of the mount", "/a[b]*/docker.sock", "/a[b]*", "/run", "/a[b]*/docker.sock"},
		{"another socket", "/host/ssh.sock", "/host", "/run", ""},
		{"the box's own layer", "/elsewhere/docker.sock", "/host", "/run", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root, err := os.MkdirTemp("/tmp", "s") // short: a socket's path is limited
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(root)
			path := filepath.Join(root, tt.socket)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			got := engineSocket(root, mountTable{
				{Root: "/", Point: "/", FSType: "overlay"},
				{Root: tt.root, Point: tt.point, FSType: "ext4"},
			})
			if got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// TestDiskMap looks ids up as the kernel does.
func TestDiskMap(t *testing.T) {
	for _, tt := range []struct{ disk, box uint32 }{{0, 1000}, {1000, 1001}, {2000, 1000}, {7, 7}} {
		ids := diskMap(tt.disk, tt.box)
		shown := func(disk int) int {
			for _, m := range ids {
				if disk >= m.ContainerID && disk < m.ContainerID+m.Size {
					return m.HostID + disk - m.ContainerID
				}
			}
			return -1
		}
		taken := map[int]int{}
		for _, id := range []int{0, 1, 6, 7, 999, 1000, 1001, 2000, 65534, displacedID - 1, displacedID, displacedID + 1, fullRange - 1} {
			want := id
			switch {
			case id == int(tt.disk):
				want = int(tt.box)
			case id == int(tt.box):
				want = displacedID
			case id == displacedID && tt.disk != tt.box:
				want = -1
			}
			got := shown(id)
			if got != want {
				t.Errorf("%v: %d is shown as %d, want %d", tt, id, got, want)
			}
			if other, ok := taken[got]; ok {
				t.Errorf("%v: %d and %d are shown as %d", tt, other, id, got)
			}
			taken[got] = id
		}
		if tt.disk != tt.box && shown(int(tt.box)) == 0 {
			t.Error("another user's files are shown as root's")
		}
	}
}

func TestParseIDMap(t *testing.T) {
	got, err := parseIDMap([]byte("         0     100000      65536\n     70000          5          1\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := idMap{{ContainerID: 0, HostID: 100000, Size: 65536}, {ContainerID: 70000, HostID: 5, Size: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "x y z\n"} {
		if _, err := parseIDMap([]byte(bad)); err == nil {
			t.Errorf("%q was parsed", bad)
		}
	}
}

func TestIDMapInside(t *testing.T) {
	// What a rootless engine of user 501 has.
	m := idMap{{ContainerID: 0, HostID: 501, Size: 1}, {ContainerID: 1, HostID: 100000, Size: 65536}}
	tests := []struct {
		outer, inner uint32
		ok           bool
	}{
		{501, 0, true}, {100000, 1, true}, {165535, 65536, true}, {165536, 0, false}, {0, 0, false}, {500, 0, false},
	}
	for _, tt := range tests {
		if inner, ok := m.inside(tt.outer); inner != tt.inner || ok != tt.ok {
			t.Errorf("%d is %d, %v inside; want %d, %v", tt.outer, inner, ok, tt.inner, tt.ok)
		}
	}
}

func TestIDMapSeenAs(t *testing.T) {
	rootless := idMap{{ContainerID: 0, HostID: 501, Size: 1}, {ContainerID: 1, HostID: 100000, Size: 65536}}
	tests := []struct {
		name         string
		in           idMap
		view, actual uint32
		want         idMap
	}{
		{
			"itself", idMap{{ContainerID: 0, HostID: 0, Size: fullRange}}, 1000, 1000,
			idMap{{ContainerID: 0, HostID: 0, Size: fullRange}},
		},
		{
			"the engine's root", rootless, 501, 0,
			idMap{
				{ContainerID: 1, HostID: 1, Size: 500}, {ContainerID: 502, HostID: 502, Size: 65035},
				{ContainerID: 501, HostID: 0, Size: 1},
			},
		},
		{
			"an id beyond the map", rootless, 200000, 0,
			idMap{{ContainerID: 1, HostID: 1, Size: 65536}, {ContainerID: 200000, HostID: 0, Size: 1}},
		},
		{
			"an id within", idMap{{ContainerID: 0, HostID: 165536, Size: 65536}, {ContainerID: 70000, HostID: 7, Size: 1}}, 7, 70000,
			idMap{
				{ContainerID: 0, HostID: 0, Size: 7}, {ContainerID: 8, HostID: 8, Size: 65528},
				{ContainerID: 7, HostID: 70000, Size: 1},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.in.seenAs(tt.view, tt.actual)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSpecRoundTrip(t *testing.T) {
	tests := []spec{
		{UID: 1000, GID: 20, Owner: 7, Dir: "/p", Argv: []string{"sh", "", "a\nb\xff"}, Env: []string{"A=", "B=\x01"}},
		{UID: 4294967294, GID: 1, Dir: "", Argv: []string{""}},
	}
	for _, want := range tests {
		in := bytes.NewBuffer(append(want.encode(), "order"...))
		got, err := readSpec(in)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Env) == 0 {
			got.Env = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if in.String() != "order" {
			t.Errorf("%q is left", in)
		}
	}
	for _, bad := range []string{"", "x\x00", "5\x00a", "2\x00a\x00", "12\x001000\x0020\x00/\x009\x00"} {
		if _, err := readSpec(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestMergeEnv(t *testing.T) {
	got := mergeEnv([]string{"A=1", "B=2"}, nil, []string{"B=3", "C=4"}, []string{"A=5"})
	if diff := cmp.Diff([]string{"A=5", "B=3", "C=4"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestReplaceFileFollowsNoLinks: with links in the way nothing is written
// where they lead.
func TestReplaceFileFollowsNoLinks(t *testing.T) {
	root := t.TempDir()
	outside := filepath.Join(root, "outside")
	if err := os.MkdirAll(filepath.Join(outside, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	victim := filepath.Join(outside, "victim")
	if err := os.WriteFile(victim, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"dir": outside, "file": victim} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	uid, gid := uint32(os.Getuid()), uint32(os.Getgid())
	if err := replaceFile(root, "/dir/d/new", []byte("x"), 0o755, 0o644, uid, gid); err == nil {
		t.Error("a linked directory was followed")
	}
	if err := replaceFile(root, "/file", []byte("new"), 0o755, 0o640, uid, gid); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(victim); string(got) != "old" {
		t.Errorf("a link was followed: %q", got)
	}
	info, err := os.Lstat(filepath.Join(root, "file"))
	if err != nil || info.Mode() != 0o640 {
		t.Errorf("the link was not replaced: %v %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(root, ".*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestStatusOf(t *testing.T) {
	for ws, want := range map[unix.WaitStatus]int{0: 0, 1 << 8: 1, 255 << 8: 255, 127 << 8: 127, 9: 137, 15: 143, 0x80 | 11: 139} {
		if got := statusOf(ws); got != want {
			t.Errorf("statusOf(%#x) = %d, want %d", uint32(ws), got, want)
		}
	}
}
