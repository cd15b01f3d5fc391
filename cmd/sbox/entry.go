//go:build linux

package main

// ignored are the signals that the caller ignores, a bit each from the lowest.
// Go's runtime takes most of them over before the first line of Go runs, and
// the command is to ignore what it would ignore without a cage: the program is
// linked to begin at _rt0_sbox, which looks first. In one linked without `-E
// _rt0_sbox` there are none.
var ignored uint64
