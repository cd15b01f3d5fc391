package host

import "strings"

// Timezone returns the name of the host's time zone, Europe/Berlin, from where
// /etc/localtime leads. It is empty if that tells none.
func Timezone(readlink func(string) (string, error)) string {
	target, err := readlink("/etc/localtime")
	if err != nil {
		return ""
	}
	_, name, found := strings.Cut(target, "zoneinfo/")
	if !found {
		return ""
	}
	return name
}
