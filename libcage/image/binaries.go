package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// LibexecVar names a directory that is searched for in-box binaries instead of
// those beside the launcher.
const LibexecVar = "AGENT_CAGE_LIBEXEC"

// MissingBinariesError is a set of in-box binaries that is not installed.
type MissingBinariesError struct {
	Arch  string
	Names []string
	// Looked are the directories that were searched.
	Looked []string
}

func (e *MissingBinariesError) Error() string {
	return fmt.Sprintf("no in-box binaries (%s) for linux/%s in %s: run make build, or set %s",
		strings.Join(e.Names, ", "), e.Arch, strings.Join(e.Looked, ", "), LibexecVar)
}

// LibexecDirs are the directories to search for in-box binaries, for a launcher
// whose own path is executable. Links to the launcher are followed.
func LibexecDirs(executable string, getenv func(string) string) []string {
	if dir := getenv(LibexecVar); dir != "" {
		return []string{dir}
	}
	if real, err := filepath.EvalSymlinks(executable); err == nil {
		executable = real
	}
	dir := filepath.Dir(executable)
	return []string{
		filepath.Join(dir, "..", "libexec", "agent-cage"),
		filepath.Join(dir, "..", "libexec"),
		filepath.Join(dir, "libexec"),
	}
}

// FindBinaries returns the paths of the named in-box binaries, by name, from
// the first directory that has them all. In each directory the folder
// linux-ARCH is preferred. The error is a *MissingBinariesError.
func FindBinaries(dirs []string, arch string, names ...string) (map[string]string, error) {
	for _, dir := range dirs {
		for _, place := range []string{filepath.Join(dir, "linux-"+arch), dir} {
			if found := binariesIn(place, names); found != nil {
				return found, nil
			}
		}
	}
	return nil, &MissingBinariesError{Arch: arch, Names: names, Looked: dirs}
}

func binariesIn(dir string, names []string) map[string]string {
	found := map[string]string{}
	for _, name := range names {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		found[name] = path
	}
	return found
}

// WrongArchError is an in-box binary that the engine could not run.
type WrongArchError struct {
	Path string
	// Got is what the file is, Want the engine's platform.
	Got  string
	Want string
}

func (e *WrongArchError) Error() string {
	return fmt.Sprintf("%s is %s, but the engine runs %s: put binaries for it into %s",
		e.Path, e.Got, e.Want, filepath.Join(filepath.Dir(e.Path), strings.ReplaceAll(e.Want, "/", "-")))
}

// elfMachines are the numbers of the architectures in an ELF header.
var elfMachines = map[uint16]string{3: "386", 40: "arm", 62: "amd64", 183: "arm64", 243: "riscv64", 22: "s390x", 21: "ppc64le"}

// checkArch makes sure that the file at path is a program for linux/arch. The
// error is a *WrongArchError if it is something else.
func checkArch(path, arch string) error {
	got, err := programArch(path)
	if err != nil {
		return err
	}
	if want := "linux/" + arch; got != want {
		return &WrongArchError{Path: path, Got: got, Want: want}
	}
	return nil
}

// programArch says what kind of program a file is, from the first 20 bytes.
func programArch(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var header [20]byte
	if _, err := io.ReadFull(f, header[:]); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return "no program", nil
		}
		return "", &fs.PathError{Op: "read", Path: path, Err: err}
	}
	if string(header[:4]) != "\x7fELF" {
		return "no ELF program", nil
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if header[5] == 2 {
		order = binary.BigEndian
	}
	machine := order.Uint16(header[18:])
	if arch, ok := elfMachines[machine]; ok {
		return "linux/" + arch, nil
	}
	return fmt.Sprintf("for the ELF machine %d", machine), nil
}
