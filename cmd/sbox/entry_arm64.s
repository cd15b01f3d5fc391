//go:build linux

#include "textflag.h"

// The kernel's struct sigaction, with room to spare.
GLOBL action<>(SB), NOPTR, $160

// This is where the program begins, ahead of Go's own beginning: for each
// signal, rt_sigaction says whether the caller ignores it.
TEXT _rt0_sbox(SB), NOSPLIT|NOFRAME, $0
	MOVD	$1, R19
	MOVD	ZR, R20
next:
	MOVD	$134, R8
	MOVD	R19, R0
	MOVD	ZR, R1
	MOVD	$action<>(SB), R2
	MOVD	$8, R3
	SVC
	CBNZ	R0, over
	MOVD	action<>(SB), R4
	CMP	$1, R4
	BNE	over
	SUB	$1, R19, R5
	MOVD	$1, R6
	LSL	R5, R6, R6
	ORR	R6, R20, R20
over:
	ADD	$1, R19, R19
	CMP	$64, R19
	BLE	next
	MOVD	R20, ·ignored(SB)
	MOVD	ZR, R0
	JMP	_rt0_arm64_linux(SB)
