package doctor

import (
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/agent-cage/agent-cage/images"
	"github.com/agent-cage/agent-cage/libcage/image"
	"github.com/agent-cage/agent-cage/libcage/lifecycle"
)

// machines are the numbers of architectures in a program's header.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

func (e *examination) lookAtBinaries() {
	const code = "binaries"
	arch := runtime.GOARCH
	if e.info != nil {
		arch = e.info.Arch
	}
	found, err := image.FindBinaries(image.LibexecDirs(e.Executable, e.Getenv), arch, images.InBoxBinaries()...)
	if err != nil {
		e.find(code, Problem, err.Error(), "make build, or install agent-cage again")
		return
	}
	names := slices.Sorted(maps.Keys(found))
	for _, name := range names {
		if err := isFor(found[name], arch); err != nil {
			e.find(code, Problem, err.Error(), "put programs for it into "+filepath.Join(filepath.Dir(found[name]), "linux-"+arch))
			return
		}
	}
	e.find(code, OK, fmt.Sprintf("%s for linux/%s in %s", strings.Join(names, ", "), arch, filepath.Dir(found[names[0]])), "")
}

func isFor(path, arch string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s is no Linux program: %w", path, err)
	}
	defer f.Close()
	if want, ok := machines[arch]; ok && f.Machine != want {
		return fmt.Errorf("%s is for %v, but the engine's machine is %s", path, f.Machine, arch)
	}
	return nil
}

func (e *examination) lookAtImages() {
	if e.info == nil {
		e.notAsked("images")
		return
	}
	refs := []string{images.Cage}
	for _, h := range e.Harnesses {
		refs = append(refs, h.Image)
	}
	stored, err := e.engine.Images(e.ctx, refs...)
	if err != nil {
		e.find("images", Problem, err.Error(), "see the engine's log")
		return
	}
	for _, ref := range refs {
		if _, ok := stored[ref]; !ok {
			e.find("images", Note, ref+" is not there: the first launch builds it", "")
			continue
		}
		e.find("images", OK, ref+" is there", "")
	}
}

func (e *examination) lookAtLogins() {
	for _, h := range e.Harnesses {
		code := "login-" + h.Label
		if where := e.login(h); where != "" {
			e.find(code, OK, "by "+where, "")
			continue
		}
		fix := "start " + h.Label + " and log in"
		if len(h.LoginVars) > 0 {
			fix += ", or set " + strings.Join(h.LoginVars, " or ")
		}
		e.find(code, Warning, "not logged in", fix)
	}
}

// login says what a harness would log in by. The state directory is a box's to
// write, so no link is followed.
func (e *examination) login(h Harness) string {
	for _, name := range h.LoginVars {
		if e.Getenv(name) != "" {
			return name
		}
	}
	root, err := os.OpenRoot(e.Home)
	if err != nil {
		return ""
	}
	defer root.Close()
	for _, path := range h.LoginFiles {
		info, err := root.Lstat(path)
		if err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return filepath.Join(e.Home, path)
		}
	}
	return ""
}

func (e *examination) lookForOrphans() {
	const code = "orphans"
	if e.Host == nil {
		e.find(code, Warning, "it cannot be told whose boxes are orphans: "+e.HostErr.Error(), "mount /proc")
		return
	}
	if e.info == nil {
		e.notAsked(code)
		return
	}
	boxes, err := lifecycle.Boxes(e.ctx, e.engine, e.Host)
	if err != nil {
		e.find(code, Problem, err.Error(), "see the engine's log")
		return
	}
	if n := len(lifecycle.Orphans(boxes)); n > 0 {
		e.find(code, Note, fmt.Sprintf("%d boxes have no launcher any more", n), "cage gc --yes; the next launch removes them too")
		return
	}
	e.find(code, OK, fmt.Sprintf("none among %d boxes", len(boxes)), "")
}
