//go:build linux

package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Health is one thing that the doctor tried.
type Health struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

// Diagnosis is what the doctor found on this machine.
type Diagnosis struct {
	Checks []Health `json:"checks"`
	// Facts are the settings of the machine that a cage depends on.
	Facts map[string]string `json:"facts"`
	// AppArmorProfile is the profile for this program, where AppArmor is in
	// force.
	AppArmorProfile string `json:"appArmorProfile,omitempty"`
}

// Healthy reports whether every check passed.
func (d *Diagnosis) Healthy() bool {
	for _, c := range d.Checks {
		if !c.OK {
			return false
		}
	}
	return true
}

func (d *Diagnosis) add(check string, ok bool, detail, fix string) {
	d.Checks = append(d.Checks, Health{Check: check, OK: ok, Detail: detail, Fix: fix})
}

// Diagnose builds a cage for real and tries its walls from inside: that GPU
// nodes open, that there is no network, that nothing but the zone can be
// written, and that keys are hidden.
func Diagnose(environ []string) *Diagnosis {
	d := &Diagnosis{Facts: facts()}
	m, err := ReadMachine(environ)
	if m != nil && m.Exe != "" && d.Facts["apparmor"] == "Y" {
		d.AppArmorProfile, _ = AppArmorProfile(m.Exe, apparmorDir+"/abi")
	}
	if err != nil {
		d.fail("bubblewrap", err)
		return d
	}
	d.add("bubblewrap", true, m.Bubblewrap.Path+" "+m.Bubblewrap.Version, "")
	plan, err := Describe(m, Options{})
	if err != nil {
		d.fail("cage", err)
		return d
	}
	results, err := m.probe(plan)
	if err != nil {
		d.fail("cage", err)
		return d
	}
	d.add("cage", true, fmt.Sprintf("built with %d mounts", len(plan.Mounts)), "")
	d.Checks = append(d.Checks, results...)
	for _, n := range plan.Notes {
		d.add("note", true, n, "")
	}
	return d
}

func (d *Diagnosis) fail(check string, err error) {
	var r *RefusedError
	if errors.As(err, &r) {
		cause := r.Cause
		if r.Err != nil {
			cause += ": " + r.Err.Error()
		}
		d.add(check, false, cause, r.Fix)
		return
	}
	d.add(check, false, err.Error(), "")
}

// facts are read from the kernel; what is not there is left out.
func facts() map[string]string {
	out := map[string]string{}
	for name, file := range map[string]string{
		"user.max_user_namespaces":                     "/proc/sys/user/max_user_namespaces",
		"kernel.unprivileged_userns_clone":             "/proc/sys/kernel/unprivileged_userns_clone",
		"kernel.apparmor_restrict_unprivileged_userns": "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
		"apparmor":       "/sys/module/apparmor/parameters/enabled",
		"kernel.release": "/proc/sys/kernel/osrelease",
	} {
		if v := sysctl(file); v != "" {
			out[name] = v
		}
	}
	if v := seccompMode(); v != "" {
		out["seccomp mode of the caller"] = v
	}
	if p := procCover("/proc/self/mountinfo"); p != "" {
		out["/proc is covered at"] = p
	}
	return out
}

// probeOrder is what the probe inside the cage is to try.
type probeOrder struct {
	Port    int      `json:"port"`    // of a listener on the loopback outside
	Deny    []string `json:"deny"`    // directories that must not be writable
	Zone    []string `json:"zone"`    // directories that must be
	Hidden  []string `json:"hidden"`  // must be empty
	Devices []string `json:"devices"` // must open
}

// probe runs this program in a cage with a list of things to try.
func (m *Machine) probe(plan *Description) ([]Health, error) {
	port, listener, err := listenLoopback()
	if err != nil {
		return nil, err
	}
	defer unix.Close(listener)
	o := probeOrder{Port: port, Deny: []string{m.Home, "/", "/etc", "/usr", "/var"}}
	for _, mt := range plan.Mounts {
		switch {
		case mt.Kind == Writable:
			o.Zone = append(o.Zone, mt.Target)
		case mt.Kind == HideDir, mt.Kind == HideFile:
			o.Hidden = append(o.Hidden, mt.Target)
		case mt.Kind == Device:
			o.Devices = append(o.Devices, mt.Target)
		}
	}
	order, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(m.Exe, "--", startPath, "probe", string(order))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Env = m.Environ
	out, err := cmd.Output()
	var results []Health
	if jerr := json.Unmarshal(out, &results); jerr != nil {
		line, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(stderr.String()), "sbox: "), "\n")
		if line == "" && err != nil {
			line = err.Error()
		}
		cause, fix, _ := strings.Cut(line, "; ")
		return nil, &RefusedError{Cause: cause, Fix: fix}
	}
	return results, nil
}

// probeInside tries what the order says, inside the cage.
func probeInside(arg string) int {
	var o probeOrder
	if err := json.Unmarshal([]byte(arg), &o); err != nil {
		fmt.Fprintln(os.Stderr, "sbox:", err)
		return StatusRefused
	}
	out, err := json.Marshal([]Health{o.gpu(), o.network(), o.writes(), o.keys()})
	if err != nil {
		return StatusRefused
	}
	os.Stdout.Write(out)
	return 0
}

func (o *probeOrder) gpu() Health {
	h := Health{Check: "GPU opens", OK: true, Detail: "this machine has none"}
	opened := 0
	for _, p := range o.Devices {
		if fi, err := os.Stat(p); err != nil || fi.IsDir() {
			continue
		}
		f, err := os.OpenFile(p, os.O_RDWR, 0)
		if err != nil {
			h.OK, h.Detail = false, err.Error()
			h.Fix = "see that you may open it outside the cage"
			continue
		}
		f.Close()
		opened++
	}
	if opened > 0 && h.OK {
		h.Detail = fmt.Sprintf("%d device nodes open", opened)
	}
	return h
}

func (o *probeOrder) network() Health {
	h := Health{Check: "network", OK: true, Detail: "none: neither the host's loopback nor beyond can be reached"}
	for _, to := range []unix.SockaddrInet4{
		{Addr: [4]byte{127, 0, 0, 1}, Port: o.Port},
		{Addr: [4]byte{192, 0, 2, 1}, Port: 9}, // for documentation; nobody has it
	} {
		if err := dial(to); err == nil || errors.Is(err, unix.EINPROGRESS) {
			h.OK, h.Detail = false, fmt.Sprintf("%d.%d.%d.%d port %d can be reached", to.Addr[0], to.Addr[1], to.Addr[2], to.Addr[3], to.Port)
		}
	}
	return h
}

// dial starts a connection and does not wait for its end: without a route it
// fails at once.
func dial(to unix.SockaddrInet4) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	err = unix.Connect(fd, &to)
	if !errors.Is(err, unix.EINPROGRESS) || to.Addr[0] != 127 {
		return err
	}
	if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, 1000); err != nil {
		return err
	}
	code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = syscall.Errno(code)
	}
	return err
}

// listenLoopback listens where a cage must not get through.
func listenLoopback() (port, fd int, err error) {
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, -1, err
	}
	if err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err == nil {
		err = unix.Listen(fd, 8)
	}
	var sa unix.Sockaddr
	if err == nil {
		sa, err = unix.Getsockname(fd)
	}
	in, ok := sa.(*unix.SockaddrInet4)
	if err != nil || !ok {
		unix.Close(fd)
		return 0, -1, err
	}
	return in.Port, fd, nil
}

func (o *probeOrder) writes() Health {
	h := Health{Check: "writes", OK: true}
	try := func(dir string) error {
		f, err := os.CreateTemp(dir, ".sbox-doctor-*")
		if err == nil {
			f.Close()
			err = os.Remove(f.Name())
		}
		return err
	}
	for _, dir := range o.Zone {
		if err := try(dir); err != nil {
			h.OK, h.Detail = false, "the zone cannot be written: "+err.Error()
		}
	}
	for _, dir := range o.Deny {
		if try(dir) == nil {
			h.OK, h.Detail = false, dir+" can be written"
		}
	}
	if h.OK {
		h.Detail = "the zone only: " + strings.Join(o.Zone, ", ")
	}
	return h
}

func (o *probeOrder) keys() Health {
	h := Health{Check: "keys", OK: true, Detail: fmt.Sprintf("%d places are hidden", len(o.Hidden))}
	for _, p := range o.Hidden {
		fi, err := os.Stat(p)
		switch {
		case err != nil:
		case fi.IsDir():
			if entries, _ := os.ReadDir(p); len(entries) > 0 {
				h.OK, h.Detail = false, p+" is visible"
			}
		default:
			if data, _ := os.ReadFile(p); len(data) > 0 {
				h.OK, h.Detail = false, p+" is readable"
			}
		}
	}
	return h
}
