//go:build linux

package sandbox

import (
	"slices"
	"strings"
)

// A variable is dropped when its name is one of these, begins with one of
// these, or has one of these words between underscores. The lists are data;
// they are only ever added to.
var (
	dropNames = map[string]string{
		"SSH_AUTH_SOCK": reasonSocket, "SSH_AGENT_PID": reasonSocket, "GPG_AGENT_INFO": reasonSocket, "GNUPGHOME": reasonSecret,
		"XAUTHORITY": reasonSocket, "ICEAUTHORITY": reasonSocket, "SESSION_MANAGER": reasonSocket,
		"DISPLAY": reasonSocket, "WAYLAND_DISPLAY": reasonSocket, "WAYLAND_SOCKET": reasonSocket, "PULSE_SERVER": reasonSocket,
		"XDG_RUNTIME_DIR": reasonSocket, "TMUX": reasonSocket, "TMUX_PANE": reasonSocket, "TMUX_TMPDIR": reasonSocket, "STY": reasonSocket,
		"GNOME_KEYRING_CONTROL": reasonSocket, "KITTY_LISTEN_ON": reasonSocket, "NVIM": reasonSocket, "NVIM_LISTEN_ADDRESS": reasonSocket,
		"WEZTERM_UNIX_SOCKET": reasonSocket, "ALACRITTY_SOCKET": reasonSocket, "SWAYSOCK": reasonSocket, "I3SOCK": reasonSocket,
		"EMACS_SERVER_FILE": reasonSocket, "SUDO_ASKPASS": reasonAskpass, "SSH_ASKPASS": reasonAskpass, "GIT_ASKPASS": reasonAskpass,
		"CONTAINER_HOST": reasonSocket, "CONTAINERD_ADDRESS": reasonSocket, "BUILDKIT_HOST": reasonSocket, "CONTAINER_SSHKEY": reasonSecret,
		"KUBECONFIG": reasonSecret, "KRB5CCNAME": reasonSecret, "KRB5_KTNAME": reasonSecret, "NETRC": reasonSecret, "PGPASSFILE": reasonSecret,
		"HISTFILE": reasonSecret, "BW_SESSION": reasonSecret, "MYSQL_PWD": reasonSecret, "REDISCLI_AUTH": reasonSecret,
		"NPM_CONFIG_USERCONFIG": reasonSecret, "npm_config_userconfig": reasonSecret,
		"BASH_ENV": reasonStart, "ENV": reasonStart, "PROMPT_COMMAND": reasonStart, "PS4": reasonStart, "SHELLOPTS": reasonStart, "BASHOPTS": reasonStart,
		"GIT_SSH_COMMAND": reasonAskpass, "GIT_SSH": reasonAskpass, "GIT_PROXY_COMMAND": reasonAskpass,
	}
	dropPrefixes = []struct{ prefix, reason string }{
		{"LD_", reasonStart}, {"DYLD_", reasonStart}, {"BASH_FUNC_", reasonStart},
		{"DBUS_", reasonSocket}, {"DOCKER_", reasonSocket}, {"PODMAN_", reasonSocket}, {"VSCODE_", reasonSocket},
		{"KITTY_PUBLIC_", reasonSecret}, {"OP_SESSION_", reasonSecret}, {"VAULT_", reasonSecret}, {"AWS_", reasonSecret},
		{"AZURE_", reasonSecret}, {"GOOGLE_", reasonSecret}, {"GCP_", reasonSecret}, {"CLOUDSDK_AUTH", reasonSecret},
		{"ACTIONS_", reasonSecret}, {"CI_JOB_", reasonSecret}, {"CI_REGISTRY_", reasonSecret},
	}
	dropWords = []string{
		"TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "PASS", "PWD", "PW",
		"KEY", "KEYS", "APIKEY", "AUTHTOKEN", "CREDENTIAL", "CREDENTIALS", "CREDS", "CRED", "COOKIE", "COOKIES", "JWT",
		"AUTH", "BEARER", "SIGNATURE", "DSN", "PAT", "OTP", "PIN", "WEBHOOK", "PRIVATE",
	}
	// dropParts are parts of words that nothing harmless is called by.
	dropParts = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "PRIVATEKEY", "ACCESSKEY"}
)

const (
	reasonSecret  = "it holds or names a secret"
	reasonSocket  = "it names a socket of the host"
	reasonAskpass = "it asks for a secret or runs a helper that does"
	reasonStart   = "it changes how programs start"
	reasonURL     = "its value is a URL with credentials"
	reasonFormat  = "it is not NAME=value"
)

// keepNames look like a secret and are none.
var keepNames = []string{"PWD", "OLDPWD", "KEYMAP", "KEYTIMEOUT", "LESSKEY"}

// scrub splits an environment into what the command gets and what it loses,
// with the reason for each. keep are names that stay whatever they are called.
func scrub(environ, keep []string) (kept []string, dropped []EnvChange) {
	seen := map[string]bool{}
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		reason := ""
		switch {
		case !ok || name == "":
			reason = reasonFormat
		case slices.Contains(keep, name):
		default:
			reason = dropReason(name, value)
		}
		if reason == "" {
			kept = append(kept, kv)
			continue
		}
		if !seen[name] {
			seen[name] = true
			dropped = append(dropped, EnvChange{Name: name, Reason: reason})
		}
	}
	return kept, dropped
}

// dropReason says why a variable is dropped; empty keeps it.
func dropReason(name, value string) string {
	if slices.Contains(keepNames, name) {
		return ""
	}
	if r, ok := dropNames[name]; ok {
		return r
	}
	upper := strings.ToUpper(name)
	for _, p := range dropPrefixes {
		if strings.HasPrefix(upper, p.prefix) {
			return p.reason
		}
	}
	for _, w := range strings.FieldsFunc(upper, func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		if slices.Contains(dropWords, w) {
			return reasonSecret
		}
	}
	for _, p := range dropParts {
		if strings.Contains(upper, p) {
			return reasonSecret
		}
	}
	if hasURLCredentials(value) {
		return reasonURL
	}
	return ""
}

// hasURLCredentials reports whether the value holds a URL of the form
// scheme://user:password@host or scheme://token@host.
func hasURLCredentials(value string) bool {
	for {
		i := strings.Index(value, "://")
		if i < 0 {
			return false
		}
		value = value[i+len("://"):]
		end := strings.IndexAny(value, "/?# \t\n\"'")
		if end < 0 {
			end = len(value)
		}
		if strings.Contains(value[:end], "@") {
			return true
		}
	}
}
