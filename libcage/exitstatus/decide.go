package exitstatus

// End is all that is known of a run when it is over.
type End struct {
	// Started says that cage-init handed the streams to the harness.
	Started bool
	// Said is the fault that cage-init told of, in the handshake or about an
	// execve that failed after it.
	Said *Fault
	// Exited says that the engine reported the box's end, with Status.
	Exited bool
	Status int
	// OOMKilled is the engine's word that the kernel killed in the box for
	// want of memory.
	OOMKilled bool
	// Stopped says that the launcher itself ended the box.
	Stopped bool
	// Interrupted is the signal that ended the box before the harness ran.
	Interrupted error
	// Unwatched is why the box has had no lifeline, without which it ends by
	// itself.
	Unwatched error
	// TimedOut says that the launcher's own time limit passed.
	TimedOut bool
	// Output is why the harness's output could not be passed on.
	Output error
	// Unread is why output of a harness that had ended was given up.
	Unread error
	// Lost is why the engine could no longer be asked.
	Lost error
}

// Decide returns the status that a launcher exits with, and the fault if
// there is one. The harness's own status stands, whatever the number, unless
// something else is known to have ended it.
func Decide(e End) (status int, fault *Fault) {
	fault = faultOf(e)
	if fault != nil {
		return fault.Kind.Status(), fault
	}
	return e.Status, nil
}

func faultOf(e End) *Fault {
	switch {
	case e.Said != nil:
		return e.Said
	case e.TimedOut:
		return Faultf(Timeout, "the time limit passed and the box was stopped")
	case e.Interrupted != nil && !e.Started:
		return &Fault{Kind: EngineStartFailed, Err: e.Interrupted}
	case e.Output != nil && e.Started:
		return lost(EngineLost, "the harness's output could not be passed on and the box was ended", e.Output)
	case e.Unread != nil && e.Started:
		return lost(EngineLost, "the harness has ended and a part of its output is lost", e.Unread)
	case !e.Exited && e.Started:
		return lost(EngineLost, "the engine was lost while the harness ran: see its log, then start again", e.Lost)
	case !e.Exited:
		return lost(EngineStartFailed, "the engine was lost before the harness started: see its log, then start again", e.Lost)
	case !e.Started && e.OOMKilled:
		return Faultf(EngineStartFailed, "the box ran out of memory before the harness started: raise --memory")
	case !e.Started:
		return Faultf(EngineStartFailed, "the box ended with status %d before the harness started", e.Status)
	case e.Unwatched != nil && e.Status == killed && !e.Stopped:
		return lost(EngineLost, "the box ended itself, since nothing in it could watch over this launcher: start again", e.Unwatched)
	case e.OOMKilled && e.Status == OutOfMemory.Status() && !e.Stopped:
		return Faultf(OutOfMemory, "the box was killed for want of memory: raise --memory")
	}
	return nil
}

// killed is the status of a box whose processes were all killed.
const killed = 137

func lost(kind Kind, detail string, err error) *Fault {
	return &Fault{Kind: kind, Detail: detail, Err: err}
}
