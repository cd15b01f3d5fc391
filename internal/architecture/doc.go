// Package architecture asserts what the map of the repository promises: which
// package may import which. It has tests only.
package architecture
