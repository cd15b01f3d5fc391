//go:build linux

package sandbox

import "golang.org/x/sys/unix"

// entries are the ways into an arm64 kernel: native calls, and those of
// 32-bit programs.
var entries = []entry{
	{name: "arm64", arch: unix.AUDIT_ARCH_AARCH64, numbers: numbersARM64},
	{name: "arm", arch: unix.AUDIT_ARCH_ARM, numbers: numbersARM},
}
