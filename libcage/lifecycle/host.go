package lifecycle

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
)

// ThisHost reads the facts about the calling process and its machine. The
// error says which fact is missing; without it, nobody could ever tell whether
// this launcher lives.
func ThisHost() (*Host, error) {
	boot, err := bootID()
	if err != nil {
		return nil, fmt.Errorf("this machine's boot: %w", err)
	}
	bootTime, err := bootTime()
	if err != nil {
		return nil, fmt.Errorf("the time of this machine's boot: %w", err)
	}
	namespace, err := pidNamespace()
	if err != nil {
		return nil, fmt.Errorf("this process's namespace: %w", err)
	}
	pid := os.Getpid()
	start, err := startOf(pid)
	if err != nil {
		return nil, fmt.Errorf("the start of this process: %w", err)
	}
	return &Host{
		Self: Launcher{
			Machine: machine(), Boot: boot, PIDNamespace: namespace,
			UID: uint32(os.Getuid()), PID: pid, Start: start,
		},
		BootTime: bootTime,
		StartOf:  startOf,
	}, nil
}

// machine returns a hash of the machine's id, since the id itself is not for
// others to see and everyone who may ask the engine sees the labels. It is
// empty if the machine has no id.
func machine() string {
	id := machineID()
	if id == "" {
		return ""
	}
	h := hmac.New(sha256.New, []byte(id))
	h.Write([]byte("agent-cage"))
	return hex.EncodeToString(h.Sum(nil)[:16])
}
