package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/docker/go-units"
)

// Space below which images do not fit any more, or soon will not, in bytes.
const (
	spaceNeeded = 1 << 30
	spaceScarce = 5 << 30
)

// Device nodes that some boxes are given.
var devices = []struct{ code, path, without, fix string }{
	{"tun", "/dev/net/tun", "an engine inside a box has a slower network", "sudo modprobe tun"},
	{"fuse", "/dev/fuse", "an engine inside a box stores images in more space", "sudo modprobe fuse"},
}

// gpus are the patterns of device nodes of graphics processors.
var gpus = []string{"/dev/nvidia[0-9]*", "/dev/dri/renderD*", "/dev/kfd"}

func (e *examination) lookAtDevices() {
	if !e.sharesKernel() {
		for _, code := range []string{"tun", "fuse", "gpu"} {
			e.find(code, Note, "the engine's kernel is not this machine's: not looked at", "run cage doctor where the engine runs")
		}
		return
	}
	for _, d := range devices {
		err := e.Machine.OpenDevice(d.path)
		switch {
		case err == nil:
			e.find(d.code, OK, d.path+" can be opened", "")
		case errors.Is(err, fs.ErrPermission):
			e.find(d.code, Note, fmt.Sprintf("%s is not for you to open: %s", d.path, d.without), "sudo chmod 0666 "+d.path)
		default:
			e.find(d.code, Note, fmt.Sprintf("%v: %s", err, d.without), d.fix)
		}
	}
	var found []string
	for _, pattern := range gpus {
		found = append(found, e.Machine.Glob(pattern)...)
	}
	if len(found) == 0 {
		e.find("gpu", OK, "none", "")
		return
	}
	e.find("gpu", OK, strings.Join(found, ", "), "")
}

// lookAtDisk looks where images and where logins are kept.
func (e *examination) lookAtDisk() {
	switch {
	case e.info == nil:
		e.notAsked("disk-engine")
	case e.sharesKernel():
		e.lookAtSpace("disk-engine", e.info.RootDir, "docker system df, then cage gc or docker system prune")
	}
	e.lookAtSpace("disk-home", e.Home, "remove what you do not need")
}

func (e *examination) lookAtSpace(code, path, fix string) {
	free, err := e.Machine.FreeBytes(path)
	if err != nil {
		e.find(code, Note, "the free space is not known: "+err.Error(), "")
		return
	}
	text := fmt.Sprintf("%s free at %s", units.BytesSize(float64(free)), path)
	switch {
	case free < spaceNeeded:
		e.find(code, Problem, text, fix)
	case free < spaceScarce:
		e.find(code, Warning, text, fix)
	default:
		e.find(code, OK, text, "")
	}
}
