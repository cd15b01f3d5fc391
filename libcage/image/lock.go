package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

// lockPoll is how often a waiting builder looks again.
const lockPoll = 200 * time.Millisecond

// lockBuild takes the lock of one image on one engine and returns its release.
// The kernel drops it with the process that holds it, so a dead builder blocks
// nobody. waiting is called once if somebody else has it. An error that is not the
// context's is a *exitstatus.Fault.
func lockBuild(ctx context.Context, stateDir, engineID, ref string, waiting func()) (release func(), err error) {
	dir := filepath.Join(stateDir, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, exitstatus.Faultf(exitstatus.ImageMissing, "directory of the build locks: %w", err)
	}
	key := sha256.Sum256([]byte(engineID + "\n" + ref))
	lock := flock.New(filepath.Join(dir, "build-"+hex.EncodeToString(key[:8])+".lock"))
	release = func() { _ = lock.Close() }
	locked, err := lock.TryLock()
	if err == nil && !locked {
		waiting()
		_, err = lock.TryLockContext(ctx, lockPoll)
	}
	if err != nil {
		release()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, exitstatus.Faultf(exitstatus.ImageMissing, "build lock of %s: %w", ref, err)
	}
	return release, nil
}
