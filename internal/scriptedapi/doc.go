// Package scriptedapi is a server for tests that answers from a script where
// real clients expect a model.
package scriptedapi
