package image

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"slices"
)

// hashVersion changes when the meaning of the hash does.
const hashVersion = "agent-cage image inputs 1"

// inputsHash is the hash of everything that decides what an image contains.
// digest returns the SHA-256 of a file of this machine.
func inputsHash(spec Spec, inputs Inputs, arch, parentID string, digest func(path string) (string, error)) (string, error) {
	h := sha256.New()
	write(h, hashVersion, arch, spec.dockerfile(), spec.Base, spec.BaseArg, parentID)
	if err := hashContext(h, spec.Context); err != nil {
		return "", fmt.Errorf("files of %s: %w", spec.Ref, err)
	}
	for _, name := range slices.Sorted(maps.Keys(inputs.Binaries)) {
		sum, err := digest(inputs.Binaries[name])
		if err != nil {
			return "", err
		}
		write(h, "binary", name, sum)
	}
	hashMap(h, "argument", inputs.Args)
	hashMap(h, "label", spec.Labels)
	return hex.EncodeToString(h.Sum(nil)), nil
}

func hashContext(h hash.Hash, files fs.FS) error {
	// WalkDir goes in lexical order.
	return fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch {
		case info.IsDir():
			write(h, "directory", path)
			return nil
		case info.Mode().Type() == fs.ModeSymlink:
			target, err := fs.ReadLink(files, path)
			write(h, "link", path, target)
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is neither a file nor a directory nor a link", path)
		}
		write(h, "file", path, fmt.Sprintf("%o", Mode(info)))
		return hashFile(h, files, path)
	})
}

func hashFile(h hash.Hash, files fs.FS, path string) error {
	f, err := files.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	write(h, hex.EncodeToString(sum.Sum(nil)))
	return nil
}

// Mode is the mode that a file of a context has in a build: the same whoever
// checked the file out and under whatever umask.
func Mode(info fs.FileInfo) fs.FileMode {
	switch {
	case info.IsDir():
		return fs.ModeDir | 0o755
	case info.Mode().Type() == fs.ModeSymlink:
		return fs.ModeSymlink | 0o777
	case info.Mode()&0o111 != 0:
		return 0o755
	}
	return 0o644
}

func hashMap(h hash.Hash, kind string, m map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		write(h, kind, key, m[key])
	}
}

// write adds fields so that no two lists of fields give the same bytes.
func write(h hash.Hash, fields ...string) {
	for _, field := range fields {
		fmt.Fprintf(h, "%d:%s\n", len(field), field)
	}
}

func (s Spec) dockerfile() string {
	if s.Dockerfile == "" {
		return "Dockerfile"
	}
	return s.Dockerfile
}

func (s Spec) inputs(arch string) (Inputs, error) {
	if s.Inputs == nil {
		return Inputs{}, nil
	}
	return s.Inputs(arch)
}
