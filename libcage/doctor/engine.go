package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/agent-cage/agent-cage/libcage/engine"
)

// Differences of the clocks from which on they matter.
const (
	skewNoticed = 5 * time.Second
	skewHarmful = 5 * time.Minute
)

func (e *examination) lookAtEngine() {
	eng, err := e.Open(e.ctx)
	if err != nil {
		e.find("endpoint", Problem, err.Error(), "correct DOCKER_HOST, DOCKER_CONTEXT or the current context: docker context ls")
		return
	}
	at := eng.Endpoint()
	e.at = &at
	e.find("endpoint", OK, fmt.Sprintf("%s, from %s", at, at.Source), "")
	asked := e.Now()
	info, err := eng.Info(e.ctx)
	if err != nil {
		e.find("engine", Problem, err.Error(), e.engineFix(at, err))
		return
	}
	e.engine, e.info = eng, &info
	e.find("engine", OK, fmt.Sprintf("version %s on %s, %s/%s, storage %s", info.ServerVersion, info.OperatingSystem, info.OS, info.Arch, info.StorageDriver), "")
	if info.OS != "linux" {
		e.find("engine-os", Problem, "the engine runs "+info.OS+" containers", "switch it to Linux containers")
	}
	e.find("api", OK, "version "+info.APIVersion+" is spoken", "")
	e.lookAtClock(asked, info.Time)
	for _, w := range info.Warnings {
		e.find("engine-warning", Note, strings.TrimPrefix(w, "WARNING: "), "see the engine's documentation: limits of boxes may be without effect")
	}
}

// engineFix says what to do about an engine that does not answer. The cause is
// in no error of the API client, so a socket is asked for it again.
func (e *examination) engineFix(at engine.Endpoint, err error) string {
	var old *engine.VersionError
	if errors.As(err, &old) {
		return "install Docker 20.10 or a later one"
	}
	if at.Local() {
		err = e.Machine.DialSocket(at.SocketPath())
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "join the group that may use the socket: sudo usermod -aG docker $USER, then log in again"
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return "start the engine: sudo systemctl start docker, or Docker Desktop"
	}
	return "see that the engine runs and that docker info answers"
}

// lookAtClock compares the engine's answer with the middle of the time in
// which it was asked.
func (e *examination) lookAtClock(asked, told time.Time) {
	if told.IsZero() {
		e.find("clock", Note, "the engine does not tell its time", "compare it yourself: docker run --rm debian:trixie-slim date")
		return
	}
	answered := e.Now()
	skew := told.Sub(asked.Add(answered.Sub(asked) / 2)).Abs().Round(100 * time.Millisecond)
	text := fmt.Sprintf("the engine's clock differs by %v", skew)
	const fix = "set both clocks by NTP; a virtual machine that slept: restart it"
	switch {
	case skew >= skewHarmful:
		e.find("clock", Problem, text+": certificates and logins will not be valid in a box", fix)
	case skew >= skewNoticed:
		e.find("clock", Warning, text, fix)
	default:
		e.find("clock", OK, text, "")
	}
}
