// Package boxinit is what cage-init does: PID 1 of every box.
//
// It asks the launcher for the run, prepares the box for it in phases, starts
// the harness as a user without any privilege, and stays as the box's init:
// it reaps orphans, forwards signals, and ends with the harness's status. It
// ends the box when its launcher is gone, which it learns through a lifeline.
//
// The harness is a process of three lives. Cage-init forks itself into a new
// user namespace and session (the stage); the stage drops every privilege,
// looks the program up and says that all is prepared; cage-init hands the
// streams over and lets the stage execute the program. So whatever can fail
// has failed, and has been reported, before the launcher lets go of the
// streams.
package boxinit
