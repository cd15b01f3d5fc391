package posture

import _ "embed"

// SecurityFS is where the kernel takes AppArmor profiles.
const SecurityFS = "/sys/kernel/security"

//go:embed apparmor.profile
var profileText string

// LoadProfile is the command that loads the AppArmor profile into the kernel
// it runs on, from a privileged container of the cage's image.
func LoadProfile() []string {
	return []string{"/bin/sh", "-c", `command -v apparmor_parser >/dev/null || { echo "the image has no apparmor_parser" >&2; exit 1; }
printf %s "$1" | apparmor_parser --replace --skip-cache`, "load", profileText}
}
