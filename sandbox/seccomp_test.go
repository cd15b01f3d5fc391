//go:build linux && amd64

package sandbox

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// loadFilter reads a filter as the kernel would and returns a machine for it.
func loadFilter(t *testing.T, allowUserns bool) *bpf.VM {
	t.Helper()
	data, err := Filter(allowUserns)
	if err != nil {
		t.Fatal(err)
	}
	var raw []bpf.RawInstruction
	for ; len(data) >= 8; data = data[8:] {
		raw = append(raw, bpf.RawInstruction{
			Op: binary.LittleEndian.Uint16(data), Jt: data[2], Jf: data[3], K: binary.LittleEndian.Uint32(data[4:]),
		})
	}
	insts, ok := bpf.Disassemble(raw)
	if len(data) != 0 || !ok {
		t.Fatalf("the filter is no program: %d bytes over", len(data))
	}
	vm, err := bpf.NewVM(insts)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

// judge runs a filter on a call. The machine reads words in network order, so
// that each half of an argument is written so, the low one first.
func judge(t *testing.T, vm *bpf.VM, arch, nr uint32, args ...uint64) uint32 {
	t.Helper()
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[offNumber:], nr)
	binary.BigEndian.PutUint32(data[offArch:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[offArgs+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[offArgs+8*i+4:], uint32(a>>32))
	}
	v, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(v)
}

const (
	passes = unix.SECCOMP_RET_ALLOW
	eperm  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	enosys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	eafno  = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)

	native = unix.AUDIT_ARCH_X86_64
	i386   = unix.AUDIT_ARCH_I386
)

// The numbers are written out: a wrong one in the table must not agree with
// itself.
func TestFilterVerdicts(t *testing.T) {
	tests := []struct {
		name   string
		arch   uint32
		nr     uint32
		args   []uint64
		want   uint32
		userns uint32 // the verdict where user namespaces are allowed; 0 for the same
	}{
		{"TIOCSTI", native, 16, []uint64{0, 0x5412}, eperm, 0},
		{"TIOCSTI with high bits", native, 16, []uint64{0, 0xdeadbeef_00005412}, eperm, 0},
		{"TIOCLINUX", native, 16, []uint64{0, 0x541c}, eperm, 0},
		{"TCGETS", native, 16, []uint64{0, 0x5401}, passes, 0},
		{"a request that has TIOCSTI in its high half", native, 16, []uint64{0, 0x5412_00005401}, passes, 0},
		{"TIOCSTI as another argument", native, 16, []uint64{0x5412, 0x5401, 0x5412}, passes, 0},
		{"TIOCSTI by x32's number", native, x32Bit | 514, []uint64{0, 0x5412}, eperm, 0},
		{"TIOCSTI by x32 and the native number", native, x32Bit | 16, []uint64{0, 0x5412}, eperm, 0},
		{"TIOCSTI by i386", i386, 54, []uint64{0, 0x5412}, eperm, 0},
		{"TCGETS by i386", i386, 54, []uint64{0, 0x5401}, passes, 0},
		{"a call by an unknown architecture", unix.AUDIT_ARCH_AARCH64, 29, []uint64{0, 0x5401}, enosys, 0},

		{"read", native, 0, nil, passes, 0},
		{"execve", native, 59, nil, passes, 0},
		{"execve by i386", i386, 11, nil, passes, 0},

		{"add_key", native, 248, nil, enosys, 0},
		{"request_key", native, 249, nil, enosys, 0},
		{"keyctl", native, 250, nil, enosys, 0},
		{"keyctl by i386", i386, 288, nil, enosys, 0},

		{"ptrace TRACEME", native, 101, []uint64{0}, passes, 0},
		{"ptrace ATTACH", native, 101, []uint64{16}, eperm, 0},
		{"ptrace SEIZE", native, 101, []uint64{0x4206}, eperm, 0},
		{"ptrace ATTACH by x32", native, x32Bit | 521, []uint64{16}, eperm, 0},
		{"ptrace ATTACH by i386", i386, 26, []uint64{16}, eperm, 0},
		{"process_vm_readv", native, 310, nil, eperm, 0},
		{"process_vm_writev", native, 311, nil, eperm, 0},
		{"process_vm_readv by x32", native, x32Bit | 539, nil, eperm, 0},
		{"process_vm_writev by i386", i386, 348, nil, eperm, 0},
		{"pidfd_getfd", native, 438, nil, eperm, 0},
		{"pidfd_getfd by i386", i386, 438, nil, eperm, 0},

		{"bpf", native, 321, nil, eperm, 0},
		{"bpf by i386", i386, 357, nil, eperm, 0},
		{"perf_event_open", native, 298, nil, eperm, 0},
		{"userfaultfd", native, 323, nil, eperm, 0},
		{"io_uring_setup", native, 425, nil, enosys, 0},
		{"io_uring_setup by i386", i386, 425, nil, enosys, 0},
		{"io_uring_enter", native, 426, nil, enosys, 0},
		{"io_uring_register", native, 427, nil, enosys, 0},
		{"kexec_load", native, 246, nil, eperm, 0},
		{"kexec_file_load", native, 320, nil, eperm, 0},
		{"kexec_load by i386", i386, 283, nil, eperm, 0},
		{"open_by_handle_at", native, 304, nil, eperm, 0},

		{"mount", native, 165, nil, eperm, passes},
		{"umount2", native, 166, nil, eperm, passes},
		{"mount by i386", i386, 21, nil, eperm, passes},
		{"move_mount", native, 429, nil, eperm, passes},
		{"fsopen", native, 430, nil, eperm, passes},
		{"mount_setattr", native, 442, nil, eperm, passes},
		{"unshare of files", native, 272, []uint64{unix.CLONE_FILES}, passes, 0},
		{"unshare NEWUSER", native, 272, []uint64{unix.CLONE_NEWUSER}, eperm, passes},
		{"unshare NEWUSER with high bits", native, 272, []uint64{1<<63 | unix.CLONE_NEWUSER}, eperm, passes},
		{"unshare NEWTIME", native, 272, []uint64{unix.CLONE_NEWTIME}, eperm, passes},
		{"clone of a thread", native, 56, []uint64{0x3d0f00}, passes, 0},
		{"clone NEWUSER", native, 56, []uint64{unix.CLONE_NEWUSER | 17}, eperm, passes},
		{"clone NEWNS by i386", i386, 120, []uint64{unix.CLONE_NEWNS}, eperm, passes},
		{"clone3", native, 435, nil, enosys, passes},
		{"setns", native, 308, nil, eperm, passes},

		{"socket UNIX", native, 41, []uint64{unix.AF_UNIX}, passes, 0},
		{"socket INET6", native, 41, []uint64{unix.AF_INET6}, passes, 0},
		{"socket NETLINK", native, 41, []uint64{unix.AF_NETLINK}, passes, 0},
		{"socket VSOCK", native, 41, []uint64{unix.AF_VSOCK}, eafno, 0},
		{"socket VSOCK that looks like UNIX above", native, 41, []uint64{1<<32 | unix.AF_VSOCK}, eafno, 0},
		{"socket ALG by i386", i386, 359, []uint64{unix.AF_ALG}, eafno, 0},
		{"socketcall SOCKET by i386", i386, 102, []uint64{1}, enosys, 0},
		{"socketcall BIND by i386", i386, 102, []uint64{2}, passes, 0},

		{"chmod 755", native, 90, []uint64{0, 0o755}, passes, 0},
		{"chmod 4755", native, 90, []uint64{0, 0o4755}, eperm, 0},
		{"fchmodat 4755", native, 268, []uint64{0, 0, 0o4755}, eperm, 0},
		{"open 4755", native, 2, []uint64{0, unix.O_CREAT, 0o4755}, eperm, 0},
		{"openat 644", native, 257, []uint64{0, 0, unix.O_CREAT, 0o644}, passes, 0},
		{"openat 4755", native, 257, []uint64{0, 0, unix.O_CREAT, 0o4755}, eperm, 0},
		{"mknod 4755", native, 133, []uint64{0, 0o104755}, eperm, 0},
	}
	strict, nested := loadFilter(t, false), loadFilter(t, true)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := judge(t, strict, tt.arch, tt.nr, tt.args...); got != tt.want {
				t.Errorf("verdict %#x, want %#x", got, tt.want)
			}
			want := tt.userns
			if want == 0 {
				want = tt.want
			}
			if got := judge(t, nested, tt.arch, tt.nr, tt.args...); got != want {
				t.Errorf("with user namespaces allowed: verdict %#x, want %#x", got, want)
			}
		})
	}
}

// Every rule has a number by each entry that has the call, and is in force.
func TestFilterAppliesEveryRule(t *testing.T) {
	vm := loadFilter(t, false)
	for _, r := range rules {
		applied := false
		for _, e := range entries {
			for _, nr := range e.numbers[r.call] {
				applied = true
				args := make([]uint64, 6)
				if len(r.tests) > 0 {
					args[r.tests[0].arg] = deciding(r.tests[0])
				}
				want := unix.SECCOMP_RET_ERRNO | uint32(r.errno)
				if got := judge(t, vm, e.arch, nr, args...); got != want {
					t.Errorf("%s by %s (%d): verdict %#x, want %#x", r.call, e.name, nr, got, want)
				}
			}
		}
		if !applied {
			t.Errorf("%s has no number by any entry", r.call)
		}
	}
}

// deciding returns an argument for which a test holds.
func deciding(a argTest) uint64 {
	switch {
	case a.bits != 0:
		return uint64(a.bits & -a.bits)
	case a.oneOf != nil:
		return uint64(a.oneOf[len(a.oneOf)-1])
	}
	return 1 << 20
}
