package policy

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
)

// ErrNoBase is why a command cannot be remembered; see BaseTokens.
var ErrNoBase = errors.New("cannot be allowed always")

// BaseTokens names a plain command for a memory of what a human always
// allows: the program, and for programs that are many in one also the words
// that say which. The command has to be one clean simple command. What runs
// whatever it is given (shells, interpreters, wrappers, tools that take a
// command as an argument) has no name that could be remembered, nor have git
// and sbox, which have rules of their own, nor a program that is named by a
// relative path or lies inside the zone.
func (c *Classifier) BaseTokens(command string) ([]string, error) {
	line, f := c.readShell(command, &trace{})
	switch {
	case f != nil:
		return nil, fmt.Errorf("%w: %s", ErrNoBase, sentence(f.code, f.detail))
	case len(line) != 1:
		return nil, fmt.Errorf("%w: more than one command", ErrNoBase)
	}
	c.facts.Do(c.learn)
	if c.env != nil {
		return nil, fmt.Errorf("%w: %s", ErrNoBase, sentence(c.env.code, c.env.detail))
	}
	return c.base(line[0].words)
}

// base is BaseTokens of the words of a simple command.
func (c *Classifier) base(words []word) ([]string, error) {
	name := words[0].text
	base := path.Base(name)
	switch {
	case words[0].tilde, strings.Contains(name, "/") && (!path.IsAbs(name) || path.Clean(name) != name):
		return nil, fmt.Errorf("%w: %s is not an absolute path", ErrNoBase, name)
	case path.IsAbs(name) && c.inZone(name):
		return nil, fmt.Errorf("%w: %s is inside the zone", ErrNoBase, name)
	case runsAnything(base):
		return nil, fmt.Errorf("%w: %s runs whatever it is given", ErrNoBase, base)
	case base == "sbox" || base == "git":
		return nil, fmt.Errorf("%w: %s has rules of its own", ErrNoBase, base)
	}
	tokens := []string{name}
	for _, w := range words[1:] {
		if len(tokens) > manyInOne[base] {
			break
		}
		if !plainName(w.text, "-_") || w.tilde {
			break
		}
		if runners()[base+" "+w.text] {
			return nil, fmt.Errorf("%w: %s %s runs whatever it is given", ErrNoBase, base, w.text)
		}
		tokens = append(tokens, w.text)
	}
	if len(tokens) == 1 && manyInOne[base] > 0 {
		return nil, fmt.Errorf("%w: %s needs its subcommand first", ErrNoBase, base)
	}
	return tokens, nil
}

// remembered judges a plain command by what a human allowed before. What runs
// is the program found now, by its absolute path: a shell that reads its
// profile first may know another by that name.
func (c *Classifier) remembered(s simple, cwd string) (program string, f *finding) {
	name := s.words[0]
	objection := c.object(CodePlain, name.at, name.text)
	if c.w.Remembered == nil {
		return "", objection
	}
	if _, err := c.base(s.words); err != nil {
		return "", objection
	}
	for _, w := range s.words {
		if w.special {
			return "", objection
		}
	}
	ok, fault := c.w.Remembered(cwd, c.args(s))
	if fault != "" {
		return "", c.object(CodePlain, name.at, name.text+": "+fault)
	}
	if !ok {
		return "", objection
	}
	program = name.text
	if !path.IsAbs(program) {
		program = c.onPath(name.text)
	}
	p, why := c.trusted(program)
	if why == "" && runsAnything(path.Base(p.path)) {
		why = p.path + " runs whatever it is given"
	}
	if why != "" {
		return "", c.object(CodePlain, name.at, "allowed before, but "+why)
	}
	return program, nil
}

// onPath returns the first executable of a name on PATH, by its absolute
// path, else the name.
func (c *Classifier) onPath(name string) string {
	for _, dir := range strings.Split(c.variable("PATH"), ":") {
		if p := path.Join(path.Clean(dir), name); path.IsAbs(dir) && c.executable(p) {
			return p
		}
	}
	return name
}

// manyInOne are programs of many commands, with how many words name one.
var manyInOne = map[string]int{
	"gh": 2, "glab": 2, "hub": 1, "docker": 1, "podman": 1, "kubectl": 1, "helm": 1, "terraform": 1, "tofu": 1,
	"aws": 2, "gcloud": 3, "az": 2, "npm": 1, "pnpm": 1, "yarn": 1, "bun": 1, "cargo": 1, "go": 1, "pip": 1,
	"pip3": 1, "pipx": 1, "poetry": 1, "uv": 2, "brew": 1, "apt": 1, "apt-get": 1, "dnf": 1, "systemctl": 1,
	"journalctl": 0, "rustup": 1, "gem": 1, "bundle": 1, "mix": 1, "dotnet": 1, "fly": 1, "heroku": 1, "vercel": 1,
}

// runners are subcommands that run what they are given.
var runners = sync.OnceValue(func() map[string]bool {
	return set2(
		"npm exec", "npm x", "npm run", "npm run-script", "npm explore", "pnpm exec", "pnpm dlx", "pnpm run",
		"yarn exec", "yarn dlx", "yarn run", "yarn node", "bun run", "bun x", "bun exec", "cargo run", "go run",
		"go generate", "go tool", "uv run", "uv tool", "poetry run", "pipx run", "bundle exec", "dotnet run",
		"dotnet exec", "mix run", "mix do", "docker run", "docker exec", "docker build", "docker compose",
		"docker container", "podman run", "podman exec", "podman build", "kubectl exec", "kubectl run",
		"kubectl debug", "gh alias", "gh extension", "gh api", "glab api", "glab alias", "rustup run",
		"systemctl edit", "brew sh", "gem exec", "terraform apply", "tofu apply", "apt-get update", "npm config",
		"heroku run", "fly ssh", "gcloud ssh", "npm set-script", "aws configure", "gh config", "helm plugin",
		"yarn create", "npm init", "npm create", "pnpm create", "bun create", "go env", "yarn config", "pnpm config",
	)
})

func set2(words ...string) map[string]bool {
	out := map[string]bool{}
	for _, w := range words {
		out[w] = true
	}
	return out
}

// runsAnything reports whether a program by this name runs what its arguments
// or input say: a shell, an interpreter, a wrapper, a tool with a side door.
func runsAnything(base string) bool {
	base = strings.ToLower(base)
	if anything()[base] {
		return true
	}
	// python3.12, ruby3.1, lua5.4, gcc-13
	stem := strings.TrimRight(base, "0123456789.-")
	return anything()[stem]
}

var anything = sync.OnceValue(func() map[string]bool {
	return set(`
	sh bash dash zsh ksh mksh csh tcsh fish ash rbash busybox toybox nu pwsh elvish xonsh
	python pypy ipython node nodejs deno ts-node tsx perl ruby irb php lua luajit tclsh wish expect guile
	racket scheme sbcl clisp emacs emacsclient vim vi nvim ed ex awk gawk mawk nawk jshell java scala groovy
	kotlin julia octave r rscript ghci runghc swift osascript erl elixir iex gdb lldb jq yq bc dc m4
	env sudo doas su runuser setpriv chroot unshare nsenter bwrap firejail systemd-run pkexec capsh
	timeout nice ionice setsid stdbuf nohup chrt taskset time script scriptreplay unbuffer flock parallel xargs
	exec command builtin eval source . trap coproc alias unalias export declare typeset local readonly set
	shopt setopt emulate enable hash bind complete compgen read mapfile readarray printf test [ let
	function if for while until case select repeat noglob nocorrect type which whence
	find fd locate rg ag ack grep-perl sort split sed tar zip unzip rsync scp sftp ssh mosh ssh-keygen ssh-add
	curl-shell watch entr inotifywait make gmake cmake ninja just task rake gradle mvn ant bazel meson scons
	npx pnpx bunx uvx pipx corepack man less more most view pager git-shell gitk tig lazygit
	tmux screen zellij dtach abduco at batch cron crontab systemd-cat dbus-run-session ld ld.so ldd strace ltrace
	perf valgrind socat nc ncat netcat telnet openssl gpg sqlite psql mysql mongo mongosh redis-cli
	docker-compose vagrant ansible ansible-playbook salt puppet chef-client cpp gcc g++ clang cc tee dd cp mv ln
	install chmod chown rm shred truncate mkfifo mknod mount umount kill pkill killall crontab visudo
	cage-gate claude codex claude-box codex-box cage gh-issue`)
})
