//go:build linux

package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	apparmorDir  = "/etc/apparmor.d"
	apparmorFile = apparmorDir + "/agent-cage-sbox"
)

// AppArmorProfile returns a profile that lets this program, and the
// bubblewrap that it starts, make user namespaces. It attaches to this
// program's path alone: bubblewrap started by anything else stays as
// restricted as it was. abiDir is where the machine's ABIs are.
func AppArmorProfile(exe, abiDir string) (string, error) {
	if strings.ContainsAny(exe, "\"\n*?[]{}^@,") || !filepath.IsAbs(exe) {
		return "", fmt.Errorf("%q cannot be named in a profile", exe)
	}
	abi, userns := "3.0", "  # this machine's AppArmor does not restrict user namespaces\n"
	for _, v := range []string{"4.0", "5.0"} {
		if _, err := os.Stat(filepath.Join(abiDir, v)); err == nil {
			abi, userns = v, "  userns,\n"
		}
	}
	return fmt.Sprintf(`abi <abi/%s>,
include <tunables/global>

# sbox builds its cage with bubblewrap, which needs a user namespace. Nothing
# inside the cage can make another one: its seccomp filter refuses that.
profile agent-cage-sbox "%s" flags=(unconfined) {
%s
  include if exists <local/agent-cage-sbox>
}
`, abi, exe, userns), nil
}

// InstallAppArmorProfile writes and loads the profile. Only root can, and only
// for a program that only root can change: who could replace it would have
// the permission.
func InstallAppArmorProfile(m *Machine) error {
	if os.Geteuid() != 0 {
		return refusedf("run sudo sbox --doctor --fix", "only root can install a profile")
	}
	if err := rootOwned(m.Exe); err != nil {
		return &RefusedError{Cause: "a profile for " + m.Exe + " would give its permission away", Fix: "install sbox where only root can write, such as /usr/local/bin", Err: err}
	}
	profile, err := AppArmorProfile(m.Exe, apparmorDir+"/abi")
	if err != nil {
		return err
	}
	if _, err := os.Stat(apparmorDir); err != nil {
		return &RefusedError{Cause: "this machine has no AppArmor profiles", Err: err}
	}
	if err := os.WriteFile(apparmorFile, []byte(profile), 0o644); err != nil {
		return err
	}
	out, err := exec.Command("apparmor_parser", "--replace", apparmorFile).CombinedOutput()
	if err != nil {
		return &RefusedError{Cause: "the profile cannot be loaded: " + strings.TrimSpace(string(out)), Err: err}
	}
	return nil
}

// rootOwned checks a file and every directory above it.
func rootOwned(p string) error {
	for ; ; p = filepath.Dir(p) {
		fi, err := os.Lstat(p)
		if err != nil {
			return err
		}
		st, ok := fi.Sys().(*syscall.Stat_t)
		if !ok || st.Uid != 0 {
			return fmt.Errorf("%s does not belong to root", p)
		}
		if fi.Mode()&0o022 != 0 && fi.Mode()&fs.ModeSticky == 0 {
			return fmt.Errorf("%s can be written by others", p)
		}
		if p == "/" {
			return nil
		}
	}
}
