package planner

import (
	"slices"
	"strings"

	"github.com/agent-cage/agent-cage/libcage/boxinit/needs"
	"github.com/agent-cage/agent-cage/libcage/plan"
)

// forwarded are the caller's variables that every harness gets if they are
// set. A trailing star stands for any ending.
var forwarded = []string{
	"GITHUB_TOKEN", "GITHUB_PERSONAL_ACCESS_TOKEN", "GH_TOKEN", "LINEAR_API_KEY",
	"TERM", "COLORTERM", "COLORFGBG", "LANG", "LC_*", "TZ",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "FTP_PROXY",
	"http_proxy", "https_proxy", "no_proxy", "all_proxy", "ftp_proxy",
}

// boxPath is the harness's PATH behind its own ~/.local/bin.
const boxPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// decideEnv returns the harness's environment and the names with the reason
// of each, both sorted by name. A later source wins: what the box needs, the
// payload, what is forwarded by default, what the caller named.
func decideEnv(in Input, p *plan.Plan) (env []string, names []plan.Env) {
	u := p.User
	type value struct{ text, reason string }
	all := map[string]value{
		"HOME":    {u.Home, "the harness's home"},
		"USER":    {u.Name, "the harness's user"},
		"LOGNAME": {u.Name, "the harness's user"},
		"SHELL":   {"/bin/bash", "the box's shell"},
		"PATH":    {u.Home + "/.local/bin:" + boxPath, "the box's own programs"},
		"LANG":    {"C.UTF-8", "the locale that every box has"},
	}
	if p.Posture.Start != "" {
		all["DOCKER_HOST"] = value{"unix://" + needs.EngineSocket, "the engine in the box"}
	}
	if in.Terminfo {
		// The empty element stands for the image's own directories.
		all["TERMINFO_DIRS"] = value{":" + needs.TerminfoDir, "the description of the caller's terminal"}
	}
	if in.Timezone != "" {
		all["TZ"] = value{in.Timezone, "the host's time zone"}
	}
	if in.Payload.Env != nil {
		for name, text := range in.Payload.Env(in.session(u)) {
			all[name] = value{text, in.Payload.Title}
		}
	}
	patterns := slices.Concat(forwarded, in.Payload.Forward)
	for _, pair := range in.Environ {
		name, text, _ := strings.Cut(pair, "=")
		switch {
		case name == "TZ" && in.Timezone != "" && strings.TrimPrefix(text, ":") == "/etc/localtime":
			// The box's own file of that path says another zone.
		case slices.Contains(in.Options.ExtraVars, name):
			all[name] = value{text, in.Payload.Prefix + "_EXTRA_VARS"}
		case slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) }):
			all[name] = value{text, "forwarded from the host"}
		}
	}
	for _, name := range sortedKeys(all) {
		env = append(env, name+"="+all[name].text)
		names = append(names, plan.Env{Name: name, Reason: all[name].reason})
	}
	return env, names
}

func matches(pattern, name string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	return name == pattern || open && strings.HasPrefix(name, prefix)
}
