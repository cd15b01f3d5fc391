//go:build linux

#include "textflag.h"

// The kernel's struct sigaction, with room to spare.
GLOBL action<>(SB), NOPTR, $160

// This is where the program begins, ahead of Go's own beginning: for each
// signal, rt_sigaction says whether the caller ignores it.
TEXT _rt0_sbox(SB), NOSPLIT|NOFRAME, $0
	MOVQ	$1, R12
	XORQ	R13, R13
next:
	MOVQ	$13, AX
	MOVQ	R12, DI
	XORQ	SI, SI
	LEAQ	action<>(SB), DX
	MOVQ	$8, R10
	SYSCALL
	CMPQ	AX, $0
	JNE	over
	CMPQ	action<>(SB), $1
	JNE	over
	MOVQ	R12, CX
	SUBQ	$1, CX
	MOVQ	$1, AX
	SHLQ	CX, AX
	ORQ	AX, R13
over:
	ADDQ	$1, R12
	CMPQ	R12, $64
	JLE	next
	MOVQ	R13, ·ignored(SB)
	XORQ	DX, DX
	JMP	_rt0_amd64_linux(SB)
