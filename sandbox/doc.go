// Package sandbox runs one command in a cage: everything read-only but the
// green zone, no network, secrets hidden. It turns the zone and the facts of
// the machine into a Description, plain data that can be printed, and has
// bubblewrap build what it says. It works on Linux only.
package sandbox
