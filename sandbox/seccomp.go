//go:build linux

package sandbox

import (
	"encoding/binary"
	"sort"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Refusal is a system call that the cage refuses.
type Refusal struct {
	Call   string `json:"call"`
	When   string `json:"when,omitempty"`
	Errno  string `json:"errno"`
	Reason string `json:"reason"`
}

// The offsets of struct seccomp_data. Arguments are 64 bits wide; the low
// half of argument n lies at offArgs+8n, because every supported
// architecture is little-endian.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// x32Bit marks a system call of the x32 ABI, which shares its architecture
// value with x86-64.
const x32Bit = 0x40000000

// namespaceFlags are the flags of clone and unshare that make a namespace.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME

// Filter returns the seccomp program of the cage as the kernel reads it: an
// array of struct sock_filter. allowUserns leaves out what keeps the command
// from making namespaces of its own.
func Filter(allowUserns bool) ([]byte, error) {
	insts, err := filterProgram(allowUserns)
	if err != nil {
		return nil, err
	}
	raw, err := bpf.Assemble(insts)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, 8*len(raw))
	for _, r := range raw {
		out = binary.LittleEndian.AppendUint16(out, r.Op)
		out = append(out, r.Jt, r.Jf)
		out = binary.LittleEndian.AppendUint32(out, r.K)
	}
	return out, nil
}

// filterProgram tests the architecture first and knows every entry into this
// kernel: a call that comes in by another one is refused as a whole.
func filterProgram(allowUserns bool) ([]bpf.Instruction, error) {
	var prog []bpf.Instruction
	prog = append(prog, bpf.LoadAbsolute{Off: offArch, Size: 4})
	for _, e := range entries {
		body := e.program(allowUserns)
		// A conditional jump reaches 255 instructions, so the test skips
		// over an unconditional one.
		prog = append(prog,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: e.arch, SkipTrue: 1},
			bpf.Jump{Skip: uint32(len(body))})
		prog = append(prog, body...)
	}
	return append(prog, refuse(unix.ENOSYS)), nil
}

// program is the part of the filter for one architecture value. It always
// ends in a return.
func (e entry) program(allowUserns bool) []bpf.Instruction {
	var p []bpf.Instruction
	p = append(p, bpf.LoadAbsolute{Off: offNumber, Size: 4})
	if e.abiBit != 0 {
		// With the ABI's bit taken off, x32's shared numbers are those of
		// x86-64; its own (512 and up) are in the table.
		p = append(p, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: ^e.abiBit})
	}
	byErrno := map[unix.Errno][]uint32{}
	for _, r := range rules {
		if r.userns && allowUserns {
			continue
		}
		for _, nr := range e.numbers[r.call] {
			if len(r.tests) == 0 {
				byErrno[r.errno] = append(byErrno[r.errno], nr)
				continue
			}
			p = append(p, r.conditional(nr)...)
		}
	}
	for _, errno := range []unix.Errno{unix.EPERM, unix.ENOSYS} {
		nrs := byErrno[errno]
		sort.Slice(nrs, func(i, j int) bool { return nrs[i] < nrs[j] })
		for _, nr := range nrs {
			p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: nr, SkipTrue: 1}, refuse(errno))
		}
	}
	return append(p, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
}

// conditional refuses the call nr if one of the rule's tests holds. The
// accumulator holds the number before, and after if nothing was refused.
func (r rule) conditional(nr uint32) []bpf.Instruction {
	var body []bpf.Instruction
	for _, t := range r.tests {
		body = append(body, bpf.LoadAbsolute{Off: offArgs + 8*t.arg, Size: 4})
		switch {
		case t.bits != 0:
			body = append(body, bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: t.bits, SkipTrue: 1}, refuse(r.errno))
		case t.noneOf != nil:
			for i, v := range t.noneOf {
				body = append(body, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(len(t.noneOf) - i)})
			}
			body = append(body, refuse(r.errno))
		default:
			for _, v := range t.oneOf {
				body = append(body, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: v, SkipTrue: 1}, refuse(r.errno))
			}
		}
	}
	body = append(body, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
	return append([]bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: nr, SkipTrue: uint8(len(body))},
	}, body...)
}

func refuse(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// refusals is the filter for people to read.
func refusals(allowUserns bool) []Refusal {
	var out []Refusal
	for _, r := range rules {
		if r.userns && allowUserns {
			continue
		}
		out = append(out, Refusal{Call: r.call, When: r.when, Errno: unix.ErrnoName(r.errno), Reason: r.reason})
	}
	return append(out, Refusal{Call: "any call by an unknown entry", Errno: "ENOSYS", Reason: "the filter judges only what it knows"})
}
