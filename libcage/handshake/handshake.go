// Package handshake is what a launcher and cage-init say to each other over
// the box's standard streams before the harness starts.
//
//	cage-init → launcher   ready
//	launcher  → cage-init  one frame: everything of this run
//	cage-init → launcher   progress, any number of times
//	cage-init → launcher   a fault, or GO
//	                       … from here on the streams are the harness's …
//	cage-init → launcher   exec failed, possibly, as the first bytes after GO
//
// All of it is ASCII without newlines: a terminal's output processing rewrites
// newlines, and an engine may scan its input for a detach sequence. What comes
// after GO can be the harness's own bytes, so that last message bears a nonce
// which the launcher chose and which never leaves cage-init's memory: nothing
// that the harness writes can be taken for it.
package handshake

import (
	"crypto/rand"
	"encoding/hex"
)

// Version is the protocol's version. Cage-init says it with ready; a launcher
// refuses any other.
const Version = 2

// Warning begins a progress message that a person should see without having
// asked for progress.
const Warning = "WARNING: "

// nonceLen is the length of a nonce in characters.
const nonceLen = 32

// NewNonce returns a fresh nonce: 128 random bits as 32 hexadecimal digits.
func NewNonce() string {
	var b [nonceLen / 2]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}

func validNonce(s string) bool {
	if len(s) != nonceLen {
		return false
	}
	_, err := hex.DecodeString(s)
	return err == nil
}
