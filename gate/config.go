package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/agent-cage/agent-cage/zone"
	"github.com/agent-cage/agent-cage/zone/zonefile"
)

// SystemDir holds root's settings. Where gate.toml exists there (it does in a
// box), it alone counts.
const SystemDir = zonefile.SystemDir

// fileName is the settings file's name in either directory.
const fileName = "gate.toml"

// Mode is what becomes of a gated call.
type Mode string

const (
	// ModeAsk asks a human. It is the default.
	ModeAsk Mode = "ask"
	// ModeCage runs a gated shell command in the cage, and asks about the rest.
	ModeCage Mode = "cage"
	// ModeAudit records what it would have decided, and answers nothing.
	ModeAudit Mode = "audit"
	// ModeDeny refuses.
	ModeDeny Mode = "deny"
	// ModeOff does nothing at all.
	ModeOff Mode = "off"
)

// Config is the gate's settings.
type Config struct {
	Mode     Mode
	Helpers  []string // absolute paths of vetted executables
	MCPAllow []string // MCP tools that need no human, exact names
	GitHub   GitHub   // what gh-issue may talk to

	dir   string // where the settings that count lie, or would
	owner int    // who may write there, beside root
}

// settings is gate.toml. All keys are optional.
type settings struct {
	Mode     string   `toml:"mode"`
	Helpers  []string `toml:"helpers"`
	MCPAllow []string `toml:"mcp-allow"`
	GitHub   github   `toml:"github"`
}

// LoadConfig returns the zone and the settings of the user uid, whose home
// directory, absolute, is given. systemDir is SystemDir but for tests.
func LoadConfig(home, systemDir string, uid int) (Config, zone.Zone, error) {
	z, err := zonefile.LoadFrom(home, systemDir)
	if err != nil {
		return Config{}, zone.Zone{}, err
	}
	c, err := loadConfig(systemDir, z, uid)
	return c, z, err
}

// loadConfig reads root's settings, else the user's; absent ones mean the
// defaults. Invalid ones, ones that others could have written and ones that
// lie in the zone are an error.
func loadConfig(systemDir string, z zone.Zone, uid int) (Config, error) {
	name := filepath.Join(systemDir, fileName)
	owner := 0
	data, err := zonefile.ReadOwned(name, 0)
	if errors.Is(err, fs.ErrNotExist) {
		owner = uid
		name = filepath.Join(z.ConfigDir(), fileName)
		data, err = zonefile.ReadOwned(name, uid)
		if errors.Is(err, fs.ErrNotExist) {
			return Config{Mode: ModeAsk, dir: z.ConfigDir(), owner: uid}, nil
		}
		if err == nil {
			err = zonefile.Outside(z, name)
		}
	}
	if err != nil {
		return Config{}, err
	}
	c, err := parseConfig(data, z)
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", name, err)
	}
	c.dir, c.owner = filepath.Dir(name), owner
	return c, nil
}

func parseConfig(data []byte, z zone.Zone) (Config, error) {
	var s settings
	if err := zonefile.DecodeStrict(data, &s); err != nil {
		return Config{}, err
	}
	c := Config{Mode: ModeAsk}
	switch m := Mode(s.Mode); m {
	case "":
	case ModeAsk, ModeCage, ModeAudit, ModeDeny, ModeOff:
		c.Mode = m
	default:
		return Config{}, fmt.Errorf("mode: %q is not ask, cage, audit, deny or off", s.Mode)
	}
	for _, h := range s.Helpers {
		p := h
		if rest, ok := strings.CutPrefix(h, "~/"); ok {
			p = z.Home + "/" + rest
		}
		if !path.IsAbs(p) || path.Clean(p) != p {
			return Config{}, fmt.Errorf("helpers: %q is not an absolute, clean path", h)
		}
		if z.Contains(p) {
			return Config{}, fmt.Errorf("helpers: %s is inside the zone", p)
		}
		c.Helpers = append(c.Helpers, p)
	}
	for _, t := range s.MCPAllow {
		if !strings.HasPrefix(t, "mcp__") || strings.ContainsAny(t, "*?[ \t\n") {
			return Config{}, fmt.Errorf("mcp-allow: %q is not the exact name of an MCP tool", t)
		}
		c.MCPAllow = append(c.MCPAllow, t)
	}
	var err error
	if c.GitHub, err = s.GitHub.parse(); err != nil {
		return Config{}, fmt.Errorf("github: %w", err)
	}
	return c, nil
}

// homeDir returns $HOME, which has to be an absolute, clean path of a
// directory.
func (e Env) homeDir() (string, error) {
	home := e.getenv("HOME")
	if !path.IsAbs(home) || path.Clean(home) != home || home == "/" {
		return "", fmt.Errorf("HOME is %q, not an absolute, clean path", home)
	}
	if st, err := os.Stat(home); err != nil {
		return "", fmt.Errorf("HOME: %w", err)
	} else if !st.IsDir() {
		return "", fmt.Errorf("HOME is %s, not a directory", home)
	}
	return home, nil
}
