// Package seccomp holds the system call filter of a box.
//
// It is Docker's default profile with three changes. The calls that make and
// enter namespaces and mount inside them are allowed, because a rootless
// engine and bubblewrap are built on them and the kernel's own checks decide
// what they may do there. The calls of the kernel keyring answer ENOSYS,
// because the keyring is not divided by namespaces and the box would read the
// one of the user on the host; programs take that answer for a kernel without
// keyrings and go on. Rules that a capability switches on are left out, so
// the filter is the same whatever cage-init is given.
//
// The profile is kept as generated data, because the module it is made from
// builds on linux only and the launchers do not. Run go generate after an
// update of that module.
package seccomp

import _ "embed"

//go:generate go run ./generate

// Name is what people call the profile in a plan.
const Name = "agent-cage: docker's default, with namespaces and mounts, without keyrings"

// Profile is the JSON of the profile, compact, as an engine takes it in a
// security option.
//
//go:embed profile.json
var Profile string
