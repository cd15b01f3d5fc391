package doctor

import "errors"

// errNotLinux is not seen by people: an engine on macOS has another kernel.
var errNotLinux = errors.New("this machine does not run Linux")

func (realMachine) Kernel() string { return "" }

func (realMachine) MakeUserNamespace() error { return errNotLinux }

func (realMachine) IdmapMount(string) error { return errNotLinux }
