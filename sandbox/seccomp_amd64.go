//go:build linux

package sandbox

import "golang.org/x/sys/unix"

// entries are the ways into an x86-64 kernel: native calls with x32 among
// them, and those of 32-bit programs.
var entries = []entry{
	{name: "x86-64 and x32", arch: unix.AUDIT_ARCH_X86_64, abiBit: x32Bit, numbers: numbersAMD64},
	{name: "i386", arch: unix.AUDIT_ARCH_I386, numbers: numbers386},
}
