package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"

	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/posture"
)

// cacheName names the volume of a project. It is another one for each user,
// machine and kind of engine: whose ids are what in it depends on them.
func (p *planning) cacheName() string {
	sum := sha256.New()
	owner := p.host.Self.OwnerLabels()
	for _, key := range slices.Sorted(maps.Keys(owner)) {
		sum.Write([]byte(key + "=" + owner[key] + "\x00"))
	}
	kind := "rootless"
	if p.options.Engine != plan.Rootless && !posture.NeedsLadder(p.options.Engine, p.engine.host()) {
		kind = "rootful"
	}
	sum.Write([]byte(kind + "\x00" + p.facts.project))
	return "agent-cage-engine-" + hex.EncodeToString(sum.Sum(nil)[:12])
}

// lockCache takes the volume for this launcher's box. The kernel gives it back
// when the launcher ends.
func (p *planning) lockCache(name string) (release func(), taken bool, err error) {
	dir := filepath.Join(p.stateHome(), "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, false, err
	}
	key := sha256.Sum256([]byte(p.engine.ID + "\x00" + name))
	lock := flock.New(filepath.Join(dir, "cache-"+hex.EncodeToString(key[:8])+".lock"))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, false, err
	}
	return func() { _ = lock.Close() }, !locked, nil
}
