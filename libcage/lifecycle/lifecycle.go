// Package lifecycle names and labels what a launcher leaves with an engine, so
// that a later one knows what is whose.
package lifecycle

import (
	"crypto/rand"
	"encoding/base32"
	"path/filepath"
	"strings"
)

// Labels of engine objects.
const (
	// LabelKind says what an object is: one of the Kind constants.
	LabelKind = "dev.agent-cage.kind"
	// LabelLauncher is the name of the launcher that made it.
	LabelLauncher = "dev.agent-cage.launcher"
	// LabelProject is the project directory of a box.
	LabelProject = "dev.agent-cage.project"
	// LabelPosture is the posture of a box.
	LabelPosture = "dev.agent-cage.posture"
)

// Kinds of engine objects.
const (
	// KindBox is a container that a harness runs in.
	KindBox = "box"
	// KindProbe is a container that finds out what the engine can do.
	KindProbe = "probe"
	// KindBuild is an image that was built here.
	KindBuild = "build"
	// KindEngineCache is a volume that the engine in a project's boxes keeps its
	// images and containers in.
	KindEngineCache = "engine-cache"
)

// BoxLabels returns the labels of a box.
func BoxLabels(launcher, project string) map[string]string {
	return map[string]string{LabelKind: KindBox, LabelLauncher: launcher, LabelProject: project}
}

// maxProject bounds the project's part of a name.
const maxProject = 40

// Name returns the default name of a box, LAUNCHER-PROJECT-RANDOM. What an
// engine does not allow in a name becomes a dash.
func Name(launcher, project, random string) string {
	base := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.':
			return r
		}
		return '-'
	}, filepath.Base(project))
	if len(base) > maxProject {
		base = base[:maxProject]
	}
	if base = strings.Trim(base, "-."); base == "" {
		base = "project"
	}
	return launcher + "-" + base + "-" + random
}

// Random returns 40 random bits as eight lower case characters.
func Random() string {
	var b [5]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}
