package face

import (
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// Variables that a launcher reads, each behind PREFIX_.
const (
	varExec   = "_EXEC"
	varDebug  = "_DEBUG"
	varEngine = "_ENGINE_MODE"
	varVars   = "_EXTRA_VARS"
	varMounts = "_EXTRA_MOUNTS"
)

func (o *Options) readVariables(g Grammar, getenv func(string) string) (err error) {
	get := func(suffix string) string { return getenv(g.Prefix + suffix) }
	o.Exec = isOn(get(varExec))
	o.Debug = isOn(get(varDebug))
	if v := get(varEngine); v != "" {
		if o.Engine, err = engineMode(v); err != nil {
			return usagef("%s%s: %v", g.Prefix, varEngine, err)
		}
	}
	if o.ExtraVars, err = variableNames(get(varVars)); err != nil {
		return usagef("%s%s: %v", g.Prefix, varVars, err)
	}
	if o.ExtraMounts, err = mounts(get(varMounts)); err != nil {
		return usagef("%s%s: %v", g.Prefix, varMounts, err)
	}
	return nil
}

func isOn(v string) bool { return v != "" && v != "0" }

var variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func variableNames(v string) ([]string, error) {
	names := strings.FieldsFunc(v, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	for _, n := range names {
		if !variableForm.MatchString(n) {
			return nil, usagef("%q is no variable's name", n)
		}
	}
	return names, nil
}

func mounts(v string) ([]Mount, error) {
	var all []Mount
	for line := range strings.Lines(v) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		m, err := mount(line)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func mount(line string) (Mount, error) {
	parts := strings.Split(line, ":")
	readOnly := len(parts) == 3 && parts[2] == "ro"
	if len(parts) != 2 && !readOnly {
		return Mount{}, usagef("%q is not source:target or source:target:ro", line)
	}
	for _, p := range parts[:2] {
		if !filepath.IsAbs(p) {
			return Mount{}, usagef("%q is not an absolute path", p)
		}
	}
	return Mount{Source: parts[0], Target: filepath.Clean(parts[1]), ReadOnly: readOnly}, nil
}
