//go:build linux

package sandbox

import (
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// descriptors are bubblewrap's, in the order of their numbers.
type descriptors struct {
	argv   []string
	files  []*os.File // 0 and up
	stderr *os.File   // memory file that takes bubblewrap's own words
	status int        // the end of the status pipe that sbox reads; never waits
	own    []*os.File // to be closed by sbox
}

func (f *descriptors) add(file *os.File) string {
	f.files = append(f.files, file)
	return strconv.Itoa(len(f.files) - 1)
}

// memory returns a memory file with the content, to be read from its start.
func (f *descriptors) memory(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	f.own = append(f.own, file)
	if _, err := file.WriteAt(data, 0); err != nil {
		return nil, err
	}
	return file, nil
}

func (m *Machine) descriptors(d *Description, o Options) (*descriptors, error) {
	f := &descriptors{}
	ok := false
	defer func() {
		if !ok {
			f.close()
		}
	}()
	var err error
	if f.stderr, err = f.memory("bubblewrap", nil); err != nil {
		return nil, err
	}
	f.files = []*os.File{os.Stdin, os.Stdout, f.stderr}

	built := Mount{Kind: Device, Source: m.stageRoot(), Target: "/"}
	args := d.arguments(append([]Mount{built}, afterStage(d.Mounts)...))
	if m.Slot != nil && m.Slot.lock != nil {
		args = append(args, "--sync-fd", f.add(m.Slot.lock))
	}
	filter, err := Filter(o.AllowUserns)
	if err != nil {
		return nil, err
	}
	seccomp, err := f.memory("seccomp", filter)
	if err != nil {
		return nil, err
	}
	args = append(args, "--seccomp", f.add(seccomp))
	if len(d.Placeholders) > 0 {
		ignore, err := f.memory("ignore", m.ignoreFile(d))
		if err != nil {
			return nil, err
		}
		args = append(args, "--ro-bind-data", f.add(ignore), ignorePath)
	}
	w, err := f.statusPipe()
	if err != nil {
		return nil, err
	}
	args = append(args, "--json-status-fd", f.add(w))

	ord := m.order(d, o)
	ord.Stderr, _ = strconv.Atoi(f.add(os.Stderr))
	orders, err := f.memory("order", ord.encode())
	if err != nil {
		return nil, err
	}
	orderFD := f.add(orders)
	options, err := f.memory("options", []byte(strings.Join(args, "\x00")+"\x00"))
	if err != nil {
		return nil, err
	}
	f.argv = m.stageArgs(orderFD, []string{"bwrap", "--args", f.add(options), "--", startPath, orderFD})
	ok = true
	return f, nil
}

// statusPipe returns the end that bubblewrap writes. The other one is no
// os.File, which would be switched to waiting whenever its number is asked for.
func (f *descriptors) statusPipe() (*os.File, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	f.status = p[0]
	w := os.NewFile(uintptr(p[1]), "status")
	f.own = append(f.own, w)
	return w, unix.SetNonblock(p[0], true)
}

func (f *descriptors) close() {
	if f.status > 0 {
		unix.Close(f.status)
	}
	for _, file := range f.own {
		file.Close()
	}
}

// complaint is what bubblewrap itself had to say.
func (f *descriptors) complaint() string {
	data, err := io.ReadAll(io.NewSectionReader(f.stderr, 0, 4096))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	return strings.TrimPrefix(line, "bwrap: ")
}

// order is what the stage and the command's starter are told.
func (m *Machine) order(d *Description, o Options) *order {
	env, _ := m.commandEnv(d, o.KeepEnv)
	return &order{Mask: blockedSignals(), Ignored: m.Ignored, Dir: d.Dir, Args: d.Command, Env: env, Mounts: withIdentity(d.Mounts)}
}
