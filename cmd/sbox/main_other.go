//go:build !linux

// Command sbox runs one command in a cage. The cage is made of Linux
// namespaces.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "sbox: the cage needs Linux; use it in a box")
	os.Exit(126)
}
