package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/agent-cage/agent-cage/libcage/atomicfile"
	"github.com/agent-cage/agent-cage/libcage/engine"
	"github.com/agent-cage/agent-cage/libcage/posture"
)

// engineFacts are what a plan depends on and what an engine's restart alone
// can change.
type engineFacts struct {
	AppArmor bool `json:"appArmor"`
	Rootless bool `json:"rootless"`
	UserNS   bool `json:"userNS"`
	// Runtimes are the names of the engine's OCI runtimes; it has one at least.
	Runtimes []string `json:"runtimes"`

	// These are for the receipt.
	ID      string `json:"id"`
	Version string `json:"version"`
	Kernel  string `json:"kernel"`
}

// askEngine returns the facts of an engine. Asking takes it some 30 ms, so the
// answer is kept for as long as its socket is the same file: a restarted
// engine makes a new one. Engines that are reached otherwise are asked each
// time.
func (l *launcher) askEngine(ctx context.Context, client *engine.Client) (f engineFacts, err error) {
	kept := keptFacts{path: l.keptFactsPath(client.Endpoint().Host), socket: socketIdentity(client.Endpoint().SocketPath())}
	if kept.read(&f) {
		return f, nil
	}
	info, err := client.Info(ctx)
	if err != nil {
		return f, err
	}
	f = engineFacts{
		AppArmor: info.AppArmor, Rootless: info.Rootless, UserNS: info.UserNS, Runtimes: info.Runtimes,
		ID: info.ID, Version: info.ServerVersion, Kernel: info.KernelVersion,
	}
	if err := kept.write(f); err != nil {
		l.say.debug("engine facts: %v", err)
	}
	return f, nil
}

// host is what a posture depends on.
func (f *engineFacts) host() posture.Host {
	return posture.Host{Runtimes: f.Runtimes, AppArmor: f.AppArmor, UserNamespace: f.Rootless || f.UserNS}
}

func (l *launcher) keptFactsPath(host string) string {
	sum := sha256.Sum256([]byte(host))
	return filepath.Join(l.stateHome(), "engines", hex.EncodeToString(sum[:8])+".json")
}

// socketIdentity tells a socket from one that later has its path. It is empty
// for what is no socket.
func socketIdentity(path string) string {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d:%d", stat.Dev, stat.Ino, info.ModTime().UnixNano())
}

// keptFacts is the file that facts are kept in.
type keptFacts struct{ path, socket string }

type keptFile struct {
	Socket string      `json:"socket"`
	Facts  engineFacts `json:"facts"`
}

func (k keptFacts) read(f *engineFacts) bool {
	if k.socket == "" {
		return false
	}
	data, err := os.ReadFile(k.path)
	var kept keptFile
	if err != nil || json.Unmarshal(data, &kept) != nil || kept.Socket != k.socket || kept.Facts.ID == "" || len(kept.Facts.Runtimes) == 0 {
		return false
	}
	*f = kept.Facts
	return true
}

func (k keptFacts) write(f engineFacts) error {
	if k.socket == "" {
		return nil
	}
	data, err := json.Marshal(keptFile{Socket: k.socket, Facts: f})
	if err != nil {
		return err
	}
	return atomicfile.Write(k.path, data)
}
