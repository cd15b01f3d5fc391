//go:build linux

package sandbox

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-cage/agent-cage/zone"
)

// system gives the cage a /dev, /proc and /run of its own.
func (b *builder) system() error {
	b.fixed = append(b.fixed,
		Mount{Kind: Dev, Target: "/dev", Reason: "null, zero, full, random, tty and terminals of the cage's own"},
		Mount{Kind: Empty, Target: "/dev/shm", Perms: 0o1777, Reason: "shared memory of the cage's own"})
	b.proc()
	b.fixed = append(b.fixed, Mount{Kind: Empty, Target: "/run", Perms: 0o755, Reason: "sockets of the host are here"})
	if fi, err := os.Lstat("/var/run"); err == nil && fi.IsDir() {
		b.fixed = append(b.fixed, Mount{Kind: Empty, Target: "/var/run", Perms: 0o755, Reason: "sockets of the host are here"})
	}
	b.shown = append(b.shown, Mount{Kind: ReadOnly, Source: b.m.Exe, Target: startPath, Reason: "starts the command"})
	if b.o.Git {
		b.shown = append(b.shown, Mount{Kind: Symlink, Source: "start", Target: refusePath, Reason: "says why git cannot sign"})
	}
	b.showInRun()
	b.gpu()
	return nil
}

// proc gives the cage a fresh /proc, or the one outside where the kernel does
// not let an unprivileged namespace mount one.
func (b *builder) proc() {
	if p := procCover("/proc/self/mountinfo"); p != "" {
		b.fixed = append(b.fixed, Mount{Kind: ReadOnly, Source: "/proc", Target: "/proc", Reason: "a fresh one cannot be mounted here"})
		b.note("/proc: a fresh one cannot be mounted, because %s is covered outside; processes outside can be seen, not reached", p)
	} else {
		b.fixed = append(b.fixed, Mount{Kind: Proc, Target: "/proc", Reason: "processes of the cage only"})
	}
	for _, p := range procReadOnly {
		if p = "/proc/" + p; exists(p) {
			b.fixed = append(b.fixed, Mount{Kind: ReadOnly, Source: p, Target: p, Reason: "kernel settings"})
		}
	}
	names := procHidden
	if b.m.UID == 0 {
		names = append(append([]string(nil), names...), procHiddenFromRoot...)
	}
	for _, p := range names {
		p = "/proc/" + p
		if fi, err := os.Lstat(p); err == nil {
			b.hideFound(p, fi.IsDir(), "it tells about the machine")
		}
	}
}

// procCover returns a mount below /proc that keeps the kernel from mounting a
// fresh one in a user namespace; empty if there is none. binfmt_misc and nfsd
// lie on directories that are always empty, which the kernel lets pass.
func procCover(mountinfo string) string {
	f, err := os.Open(mountinfo)
	if err != nil {
		return "/proc itself"
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		p := strings.Fields(sc.Text())
		if len(p) < 5 || !strings.HasPrefix(p[4], "/proc/") {
			continue
		}
		switch p[4] {
		case "/proc/sys/fs/binfmt_misc", "/proc/fs/nfsd":
		default:
			return p[4]
		}
	}
	return ""
}

// shownFiles are variables that name a public file which may lie in /run.
var shownFiles = []string{
	"SSL_CERT_FILE", "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO",
	"CAGE_CA_BUNDLE", "GIT_CONFIG_GLOBAL",
}

// showInRun shows what PATH and the loader need of /run, and public files
// there that variables name.
func (b *builder) showInRun() {
	done := map[string]bool{}
	show := func(p, reason string) {
		for _, run := range []string{"/run/", "/var/run/"} {
			if p = filepath.Clean(p); !strings.HasPrefix(p, run) || done[p] {
				continue
			}
			fi, err := os.Stat(p)
			if err != nil || !fi.IsDir() && !fi.Mode().IsRegular() {
				continue
			}
			done[p] = true
			b.shown = append(b.shown, Mount{Kind: ReadOnly, Source: p, Target: p, Reason: reason})
		}
	}
	show("/run/current-system", "the system's programs")
	show("/run/opengl-driver", "the system's graphics libraries")
	show("/run/booted-system", "the system's programs")
	for _, dir := range filepath.SplitList(b.m.Getenv("PATH")) {
		// A directory of programs is shown whole; one with sockets in it is
		// no directory of programs.
		if dir = filepath.Clean(dir); dir != "/run" && dir != "/var/run" && !hasSocket(dir) && !b.isShown(dir) {
			show(dir, "PATH")
		}
	}
	for _, name := range shownFiles {
		show(b.m.Getenv(name), name)
	}
	if p, err := filepath.EvalSymlinks(b.m.Home + "/.gitconfig"); err == nil {
		show(p, "git's settings")
	}
}

func (b *builder) isShown(p string) bool {
	for _, m := range b.shown {
		if zone.Within(p, m.Target) {
			return true
		}
	}
	return false
}

func hasSocket(dir string) bool {
	if !strings.HasPrefix(dir, "/run/") && !strings.HasPrefix(dir, "/var/run/") {
		return false
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return true
	}
	for _, e := range entries {
		if e.Type()&os.ModeSocket != 0 {
			return true
		}
	}
	return false
}

// gpu shows the device nodes that graphics and compute libraries open.
func (b *builder) gpu() {
	nodes, _ := filepath.Glob("/dev/nvidia*")
	nodes = append(nodes, "/dev/dri", "/dev/kfd", "/dev/dxg")
	for _, p := range nodes {
		fi, err := os.Stat(p)
		if err != nil || !fi.IsDir() && fi.Mode()&os.ModeCharDevice == 0 {
			continue
		}
		b.shown = append(b.shown, Mount{Kind: Device, Source: p, Target: p, Reason: "GPU"})
	}
}

func exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}
