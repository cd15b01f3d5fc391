// Package version says which agent-cage this is.
package version

import "runtime/debug"

// String returns the version that the binary was built as: that of the
// module, else "devel", with the commit if it is known.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v == "devel" {
			v += " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return v
}
