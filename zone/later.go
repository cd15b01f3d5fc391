package zone

import (
	"path"
	"strings"
)

// Where says at which places a name counts.
type Where uint8

const (
	// AnyDepth counts in every directory.
	AnyDepth Where = iota
	// ProjectTop is read by its tool at the top of a project only.
	ProjectTop
	// HomeTop counts relative to the home directory only.
	HomeTop
)

// Later is a file or directory that is harmless to write and that the host
// executes, or lets decide what to execute, later on.
type Later struct {
	Name  string // slash-separated; "*.ext" stands for any file with that ending
	Dir   bool   // a directory: everything below it counts
	Where Where
	By    string // who executes it
}

// Names returns the list in the order it is explained to users. The slice is
// the caller's.
func Names() []Later { return append([]Later(nil), later...) }

// The names are data: adding one needs no code, and nothing here takes one
// away.
var later = []Later{
	// git and its siblings: hooks, filters, commands in config files.
	{".git", true, AnyDepth, "git"},
	{".gitattributes", false, AnyDepth, "git"},
	{".gitmodules", false, AnyDepth, "git"},
	{".gitconfig", false, AnyDepth, "git"},
	{".hg", true, AnyDepth, "mercurial"},
	{".hgrc", false, AnyDepth, "mercurial"},
	{".jj", true, AnyDepth, "jujutsu"},

	// hook managers
	{".pre-commit-config.yaml", false, ProjectTop, "pre-commit"},
	{".pre-commit-config.yml", false, ProjectTop, "pre-commit"},
	{".pre-commit-hooks.yaml", false, ProjectTop, "pre-commit"},
	{".husky", true, AnyDepth, "husky"},
	{".huskyrc", false, ProjectTop, "husky"},
	{".githooks", true, ProjectTop, "git"},
	{".git-hooks", true, ProjectTop, "git"},
	{"lefthook.yml", false, ProjectTop, "lefthook"},
	{"lefthook.yaml", false, ProjectTop, "lefthook"},
	{"lefthook.toml", false, ProjectTop, "lefthook"},
	{"lefthook.json", false, ProjectTop, "lefthook"},
	{"lefthook-local.yml", false, ProjectTop, "lefthook"},
	{"lefthook-local.yaml", false, ProjectTop, "lefthook"},
	{".lefthook.yml", false, ProjectTop, "lefthook"},
	{".lefthook.yaml", false, ProjectTop, "lefthook"},
	{".lefthook.toml", false, ProjectTop, "lefthook"},
	{".lefthook", true, ProjectTop, "lefthook"},
	{".lefthook-local", true, ProjectTop, "lefthook"},
	{".overcommit.yml", false, ProjectTop, "overcommit"},

	// what a shell runs on start or on cd
	{".envrc", false, AnyDepth, "direnv"},
	{".direnv", true, AnyDepth, "direnv"},
	{".autoenv.zsh", false, AnyDepth, "autoenv"},
	{".autoenv_leave.zsh", false, AnyDepth, "autoenv"},
	{".mise.toml", false, AnyDepth, "mise"},
	{"mise.toml", false, AnyDepth, "mise"},
	{".mise.local.toml", false, AnyDepth, "mise"},
	{"mise.local.toml", false, AnyDepth, "mise"},
	{".mise", true, AnyDepth, "mise"},
	{".config/mise", true, AnyDepth, "mise"},
	{".profile", false, AnyDepth, "the shell"},
	{".bashrc", false, AnyDepth, "bash"},
	{".bash_profile", false, AnyDepth, "bash"},
	{".bash_login", false, AnyDepth, "bash"},
	{".bash_logout", false, AnyDepth, "bash"},
	{".bash_aliases", false, AnyDepth, "bash"},
	{".inputrc", false, AnyDepth, "readline"},
	{".zshrc", false, AnyDepth, "zsh"},
	{".zshenv", false, AnyDepth, "zsh"},
	{".zprofile", false, AnyDepth, "zsh"},
	{".zlogin", false, AnyDepth, "zsh"},
	{".zlogout", false, AnyDepth, "zsh"},
	{".kshrc", false, AnyDepth, "ksh"},
	{".cshrc", false, AnyDepth, "csh"},
	{".tcshrc", false, AnyDepth, "tcsh"},
	{".login", false, AnyDepth, "csh"},
	{".config/fish", true, AnyDepth, "fish"},
	{".xprofile", false, AnyDepth, "the X session"},
	{".xinitrc", false, AnyDepth, "the X session"},
	{".xsession", false, AnyDepth, "the X session"},
	{".xsessionrc", false, AnyDepth, "the X session"},
	{".pam_environment", false, AnyDepth, "pam_env"},

	// coding agents
	{".claude", true, AnyDepth, "Claude Code"},
	{".claude.json", false, AnyDepth, "Claude Code"},
	{".claude-plugin", true, AnyDepth, "Claude Code"},
	{".codex", true, AnyDepth, "Codex"},
	{".agents", true, AnyDepth, "coding agents"},
	{".mcp.json", false, AnyDepth, "coding agents"},
	{".gemini", true, AnyDepth, "Gemini CLI"},
	{".opencode", true, AnyDepth, "opencode"},
	{"opencode.json", false, AnyDepth, "opencode"},
	{"opencode.jsonc", false, AnyDepth, "opencode"},
	{".aider.conf.yml", false, AnyDepth, "aider"},
	{".cursor", true, AnyDepth, "Cursor"},
	{".windsurf", true, AnyDepth, "Windsurf"},
	{".continue", true, AnyDepth, "Continue"},
	{".kiro", true, AnyDepth, "Kiro"},
	{".roo", true, AnyDepth, "Roo Code"},
	{".qwen", true, AnyDepth, "Qwen Code"},
	{".amp", true, AnyDepth, "Amp"},
	{".env.claude-box", false, AnyDepth, "claude-box"},
	{".env.codex-box", false, AnyDepth, "codex-box"},

	// editors
	{".vscode", true, AnyDepth, "VS Code"},
	{"*.code-workspace", false, AnyDepth, "VS Code"},
	{".devcontainer", true, AnyDepth, "dev containers"},
	{".devcontainer.json", false, AnyDepth, "dev containers"},
	{".idea", true, AnyDepth, "JetBrains IDEs"},
	{".run", true, ProjectTop, "JetBrains IDEs"},
	{".fleet", true, AnyDepth, "Fleet"},
	{".zed", true, AnyDepth, "Zed"},
	{".helix", true, AnyDepth, "Helix"},
	{".vs", true, AnyDepth, "Visual Studio"},
	{".nova", true, AnyDepth, "Nova"},
	{"*.sublime-project", false, AnyDepth, "Sublime Text"},
	{".vimrc", false, AnyDepth, "vim"},
	{".gvimrc", false, AnyDepth, "vim"},
	{".exrc", false, AnyDepth, "vi"},
	{".nvimrc", false, AnyDepth, "neovim"},
	{".nvim.lua", false, AnyDepth, "neovim"},
	{".lvimrc", false, AnyDepth, "vim"},
	{".vim", true, AnyDepth, "vim"},
	{".config/nvim", true, AnyDepth, "neovim"},
	{".dir-locals.el", false, AnyDepth, "Emacs"},
	{".dir-locals-2.el", false, AnyDepth, "Emacs"},
	{".emacs", false, AnyDepth, "Emacs"},
	{".emacs.d", true, AnyDepth, "Emacs"},
	{".spacemacs", false, AnyDepth, "Emacs"},

	// debuggers, multiplexers and clients that read commands from a dot file
	{".gdbinit", false, AnyDepth, "gdb"},
	{".lldbinit", false, AnyDepth, "lldb"},
	{".tmux.conf", false, AnyDepth, "tmux"},
	{".config/tmux", true, AnyDepth, "tmux"},
	{".screenrc", false, AnyDepth, "screen"},
	{".ssh", true, AnyDepth, "ssh"},
	{".gnupg", true, AnyDepth, "gpg"},
	{".curlrc", false, AnyDepth, "curl"},
	{".wgetrc", false, AnyDepth, "wget"},
	{".psqlrc", false, AnyDepth, "psql"},
	{".sqliterc", false, AnyDepth, "sqlite3"},
	{".irbrc", false, AnyDepth, "irb"},
	{".pryrc", false, AnyDepth, "pry"},
	{".Rprofile", false, AnyDepth, "R"},

	// the user's own session and this program's own settings
	{".config/agent-cage", true, AnyDepth, "agent-cage"},
	{".config/git", true, AnyDepth, "git"},
	{".config/systemd", true, AnyDepth, "systemd"},
	{".config/environment.d", true, AnyDepth, "systemd"},
	{".config/autostart", true, AnyDepth, "the desktop"},
	{".config/hypr", true, HomeTop, "the desktop"},
	{".config/i3", true, HomeTop, "the desktop"},
	{".config/sway", true, HomeTop, "the desktop"},
	{".config/kitty", true, HomeTop, "kitty"},
	{".config/alacritty", true, HomeTop, "alacritty"},
	{".config/wezterm", true, HomeTop, "wezterm"},
	{".config/pip", true, HomeTop, "pip"},
	{".config/Code", true, HomeTop, "VS Code"},
	{".vscode-server", true, HomeTop, "VS Code"},
	{".cursor-server", true, HomeTop, "Cursor"},
	{".config/zed", true, HomeTop, "Zed"},
	{".config/helix", true, HomeTop, "Helix"},
	{".config/emacs", true, HomeTop, "Emacs"},
	{".config/gh", true, HomeTop, "gh"},
	{".local/bin", true, HomeTop, "the shell"},
	{"bin", true, HomeTop, "the shell"},
	{".local/libexec", true, HomeTop, "agent-cage"},
	{".local/share/applications", true, HomeTop, "the desktop"},
	{".local/share/systemd", true, HomeTop, "systemd"},
	{".local/share/nvim", true, HomeTop, "neovim"},
	{".oh-my-zsh", true, HomeTop, "zsh"},
	{".zsh", true, HomeTop, "zsh"},
	{".bashrc.d", true, HomeTop, "bash"},
	{".npmrc", false, HomeTop, "npm"},
	{".yarnrc", false, HomeTop, "yarn"},
	{".cargo", true, HomeTop, "cargo"},
	{".rustup", true, HomeTop, "rustup"},
	{".docker", true, HomeTop, "docker"},
	{".kube", true, HomeTop, "kubectl"},
	{".aws", true, HomeTop, "aws"},
	{".pyenv", true, HomeTop, "pyenv"},
	{".nvm", true, HomeTop, "nvm"},
	{".claude-box", true, HomeTop, "claude-box"},
	{".codex-box", true, HomeTop, "codex-box"},
	{".local/state/agent-cage", true, HomeTop, "agent-cage"},
}

// MatchLater returns the entry that p, absolute and clean, falls under:
// its own name, or a directory of the list above it. Names are compared as
// the most forgiving file system would. Where a name counts at a project's
// top only, it is matched at any depth all the same: any directory of the
// zone may be one.
func (z Zone) MatchLater(p string) (Later, bool) {
	parts := splitFolded(p)
	for i := range parts {
		for _, l := range later {
			if l.Where != HomeTop && l.matchAt(parts[i:]) {
				return l, true
			}
		}
	}
	home := splitFolded(z.Home)
	if len(parts) > len(home) && equalParts(parts[:len(home)], home) {
		for _, l := range later {
			if l.Where == HomeTop && l.matchAt(parts[len(home):]) {
				return l, true
			}
		}
	}
	return Later{}, false
}

// MatchName returns the entry, of those that do not count below the home
// directory only, whose last element is the single file name.
func MatchName(name string) (Later, bool) {
	parts := splitFolded(name)
	if len(parts) != 1 {
		return Later{}, false
	}
	for _, l := range later {
		if l.Where != HomeTop && l.matchAt(parts) {
			return l, true
		}
	}
	return Later{}, false
}

// matchAt reports whether the path elements begin with the entry's name. A
// file of the list that turns out to be a directory counts too: on no system
// is there a reason to write below one.
func (l Later) matchAt(parts []string) bool {
	if ext, ok := strings.CutPrefix(l.Name, "*"); ok {
		return len(parts) > 0 && strings.HasSuffix(parts[0], strings.ToLower(ext))
	}
	name := l.Name
	for i := 0; ; i++ {
		if i >= len(parts) {
			return false
		}
		head, rest, more := strings.Cut(name, "/")
		if parts[i] != fold(head) {
			return false
		}
		if !more {
			return true
		}
		name = rest
	}
}

func splitFolded(p string) []string {
	p = strings.Trim(path.Clean(p), "/")
	if p == "" {
		return nil
	}
	parts := strings.Split(p, "/")
	for i, s := range parts {
		parts[i] = fold(s)
	}
	return parts
}

func equalParts(a, b []string) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// fold maps a file name to the form under which the most forgiving file
// systems find it: case folded (APFS, NTFS, ext4 with casefold), default
// ignorable characters dropped (HFS+), trailing dots, blanks and stream names
// dropped, and git's short name spelled out (NTFS).
func fold(s string) string {
	if i := strings.IndexByte(s, ':'); i > 0 {
		s = s[:i]
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r == 0xAD, r == 0x34F, r == 0x61C, r == 0xFEFF,
			r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E,
			r >= 0x2060 && r <= 0x206F, r >= 0xFE00 && r <= 0xFE0F:
			return -1
		case r == 0x17F: // long s
			return 's'
		case r == 0x212A: // Kelvin sign
			return 'k'
		}
		return r
	}, s)
	s = strings.ToLower(strings.TrimRight(s, ". "))
	if strings.HasPrefix(s, "git~") {
		return ".git"
	}
	return s
}
