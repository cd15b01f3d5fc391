package images

import (
	"encoding/base64"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

func dockerfile(t *testing.T, image string) string {
	t.Helper()
	files, err := Context(image)
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(files, "Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDockerfiles(t *testing.T) {
	for _, image := range []string{Cage, Claude, Codex} {
		text := dockerfile(t, image)
		if regexp.MustCompile(`(?mi)^#\s*syntax\s*=`).MatchString(text) {
			t.Errorf("%s: a syntax line makes the build depend on a registry", image)
		}
		if !strings.Contains(text, "ARG "+BaseArg+"=") || !strings.Contains(text, "\nFROM ${"+BaseArg+"}\n") {
			t.Errorf("%s: does not start from the build argument %s", image, BaseArg)
		}
		if !strings.Contains(text, "--mount=type=secret,id="+CASecret+",") {
			t.Errorf("%s: does not mount the secret %s", image, CASecret)
		}
	}
}

func TestCageCopiesEveryInBoxBinary(t *testing.T) {
	text := dockerfile(t, Cage)
	for _, name := range InBoxBinaries() {
		if !regexp.MustCompile(`(?m)^COPY .*\b` + name + `\b`).MatchString(text) {
			t.Errorf("%s is not copied", name)
		}
	}
}

func TestBaseIsPayloadFree(t *testing.T) {
	for _, harness := range []string{"claude", "codex"} {
		if strings.Contains(strings.ToLower(dockerfile(t, Cage)), harness) {
			t.Errorf("the base's Dockerfile speaks of %s", harness)
		}
	}
}

func TestPins(t *testing.T) {
	for _, image := range []string{Claude, Codex} {
		pin, err := HarnessPin(image)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(dockerfile(t, image), pin.Version) {
			t.Errorf("%s: the Dockerfile names the version too", image)
		}
		for _, arch := range []string{"amd64", "arm64"} {
			args, err := pin.BuildArgs(arch)
			if err != nil {
				t.Fatal(err)
			}
			if _, version, _ := strings.Cut(args["PACKAGE"][1:], "@"); !strings.HasPrefix(version, pin.Version) {
				t.Errorf("%s %s: %s is not version %s", image, arch, args["PACKAGE"], pin.Version)
			}
			encoded, ok := strings.CutPrefix(args["INTEGRITY"], "sha512-")
			sum, err := base64.StdEncoding.DecodeString(encoded)
			if !ok || err != nil || len(sum) != 64 {
				t.Errorf("%s %s: integrity %q is no SHA-512", image, arch, args["INTEGRITY"])
			}
			for name := range args {
				if !strings.Contains(dockerfile(t, image), "\nARG "+name+"\n") {
					t.Errorf("%s: argument %s is not declared", image, name)
				}
			}
		}
		if _, err := pin.BuildArgs("riscv64"); err == nil || !strings.Contains(err.Error(), "amd64, arm64") {
			t.Errorf("%s: riscv64 gave %v", image, err)
		}
	}
}

func TestUnknownImage(t *testing.T) {
	if _, err := Context("other"); err == nil {
		t.Error("an unknown image has a context")
	}
	if _, err := HarnessPin(Cage); err == nil {
		t.Error("the base pins a harness")
	}
}
