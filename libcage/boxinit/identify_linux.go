package boxinit

import (
	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/exitstatus"
)

// identify finds out who the caller and the harness are in the box. Where the
// engine runs boxes in a user namespace, both are the id in there that is the
// caller's outside.
func (b *box) identify() error {
	u := b.run.Plan.User
	b.callerIDs, b.harnessIDs = ids{u.HostUID, u.HostGID}, ids{u.UID, u.GID}
	if u.Mapped {
		maps, err := boxMaps()
		if err != nil {
			return err
		}
		uid, ok := maps.uids.inside(u.HostUID)
		if !ok {
			return notMapped("user", u.HostUID)
		}
		gid, ok := maps.gids.inside(u.HostGID)
		if !ok {
			return notMapped("group", u.HostGID)
		}
		b.callerIDs, b.harnessIDs = ids{uid, gid}, ids{uid, gid}
	}
	if b.harnessIDs.uid == needs.BystanderID {
		return exitstatus.Faultf(exitstatus.EngineStartFailed,
			"user %d is the one that watches over boxes: use --user UID:GID with another", needs.BystanderID)
	}
	return nil
}

func notMapped(kind string, id uint32) error {
	return exitstatus.Faultf(exitstatus.EngineStartFailed,
		"the engine runs boxes in a user namespace that does not have your %s %d, so you would not own what is made there: use your own rootless engine, map the id (/etc/sub%cid), or give --user UID:GID",
		kind, id, kind[0])
}

// harnessMaps returns the maps of the harness's user namespace. In it the
// harness has the ids that its account says.
func (b *box) harnessMaps() (idMaps, error) {
	maps, err := boxMaps()
	if err != nil {
		return maps, err
	}
	maps.uids = maps.uids.seenAs(b.account.UID, b.harnessIDs.uid)
	maps.gids = maps.gids.seenAs(b.account.GID, b.harnessIDs.gid)
	return maps, nil
}
