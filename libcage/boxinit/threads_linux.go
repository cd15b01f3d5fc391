package boxinit

import (
	"runtime"
	"runtime/debug"
	"sync"
)

const (
	// spareThreads are made while the kernel still makes some.
	spareThreads = 4
	// mostMemory is how much a process of cage-init uses before it collects
	// garbage all the same, in bytes.
	mostMemory = 64 << 20
)

// useNoMoreThreads readies this process for a harness that takes all the
// processes that a box may have: a program in Go is ended by its runtime when
// the kernel refuses it a thread. A collection of garbage would want one for
// each processor, every two minutes also in a program that does nothing.
func useNoMoreThreads() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(mostMemory)
	var made sync.WaitGroup
	release := make(chan struct{})
	made.Add(spareThreads)
	for range spareThreads {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			made.Done()
			<-release
		}()
	}
	made.Wait()
	close(release)
}
