package policy

import (
	"path"
	"strings"
	"sync"
)

// set makes a set of the words of its arguments.
func set(lists ...string) map[string]bool {
	out := map[string]bool{}
	for _, l := range lists {
		for _, w := range strings.Fields(l) {
			out[w] = true
		}
	}
	return out
}

// Flags that several subcommands share.
const (
	diffFlags = `-p -u --patch -s --no-patch --raw --patch-with-raw --patch-with-stat --minimal --patience
		--histogram --stat --numstat --shortstat --summary --compact-summary --name-only --name-status
		--dirstat --check --full-index --binary --abbrev --no-renames --find-renames -M --find-copies -C
		--find-copies-harder --pickaxe-all --pickaxe-regex -R --relative --no-relative -a --text
		--ignore-cr-at-eol --ignore-space-at-eol -b --ignore-space-change -w --ignore-all-space
		--ignore-blank-lines --no-indent-heuristic --indent-heuristic -W --function-context
		--no-function-context --no-ext-diff --no-textconv --no-prefix --default-prefix --cc -z
		--color --no-color --color-words --word-diff --color-moved --no-color-moved --irreversible-delete -D
		--ignore-submodules --submodule=short`
	logFlags = `--oneline --graph --all --branches --tags --remotes --decorate --no-decorate --source
		--abbrev-commit --no-abbrev-commit --no-abbrev -i --regexp-ignore-case -E --extended-regexp -F
		--fixed-strings -P --perl-regexp --all-match --invert-grep --first-parent --merges --no-merges
		--reverse --date-order --topo-order --author-date-order --follow --full-history
		--simplify-by-decoration --simplify-merges --ancestry-path --left-right --left-only --right-only
		--cherry --cherry-pick --cherry-mark --boundary --no-walk --children --parents --no-notes --notes
		--show-pulls --relative-date --log-size -m -c --not --pretty --clear-decorations`
)

var anyJoined = valueRule{joined: true}
var anySeparate = valueRule{joined: true, separate: true}
var optionalJoined = valueRule{joined: true, optional: true}

// format is a value with placeholders. %G asks for signatures, for which git
// runs the configured program.
var format = valueRule{joined: true, check: func(c *Classifier, _ gitCommand, w word) *finding {
	if strings.Contains(strings.ToLower(w.text), "%g") && strings.Contains(w.text, "%G") ||
		strings.Contains(w.text, "signature") {
		return c.object(CodeGitValue, w.at, "a format that verifies signatures")
	}
	return nil
}}

var optionalFormat = valueRule{joined: true, optional: true, check: format.check}

// zoneFile is a value that names a file in the zone.
var zoneFile = valueRule{joined: true, separate: true, check: func(c *Classifier, g gitCommand, w word) *finding {
	return c.gitFile(g, w)
}}

func values(groups ...map[string]valueRule) map[string]valueRule {
	out := map[string]valueRule{}
	for _, g := range groups {
		for k, v := range g {
			out[k] = v
		}
	}
	return out
}

func all(rule valueRule, names string) map[string]valueRule {
	out := map[string]valueRule{}
	for _, n := range strings.Fields(names) {
		out[n] = rule
	}
	return out
}

func diffValues() map[string]valueRule {
	return values(
		all(optionalJoined, `--stat --abbrev --color --color-words --word-diff --color-moved --find-renames
		--find-copies --relative --dirstat --ignore-submodules -M -C`),
		all(anyJoined, `--unified --inter-hunk-context --diff-filter --diff-algorithm --word-diff-regex
		--color-moved-ws --src-prefix --dst-prefix --stat-width --stat-name-width --stat-count
		--anchored --skip-to --rotate-to -U`),
		all(anySeparate, `-S -G`),
	)
}

func logValues() map[string]valueRule {
	return values(diffValues(),
		all(optionalJoined, `--decorate --branches --tags --remotes --no-walk --ancestry-path`),
		all(anyJoined, `--max-count --skip --author --committer --grep --since --until --after --before
		--date --decorate-refs --decorate-refs-exclude --exclude --min-parents --max-parents --glob`),
		all(anySeparate, `-n -L`),
		map[string]valueRule{"--format": format, "--pretty": optionalFormat},
	)
}

// gitLocal is what is green of git on the repository alone. All of it runs in
// the cage, so that what a repository configures runs there too. It is made
// when it is first asked for: most runs of a hook have no use for it.
var gitLocal = sync.OnceValue(func() map[string]gitSub {
	diffValues, logValues := diffValues(), logValues()
	return map[string]gitSub{
		"status": {
			bools: set(`-s --short -b --branch --show-stash --porcelain --long -v --verbose -u
			--untracked-files --ignored -z --column --no-column --ahead-behind --no-ahead-behind
			--renames --no-renames --find-renames`),
			values: values(
				all(optionalJoined, `--porcelain --untracked-files --ignored --column --find-renames --ignore-submodules`),
				map[string]valueRule{"-u": optionalJoined}),
			cluster: true,
		},
		"diff": {
			bools:  set(diffFlags, `--cached --staged --merge-base --exit-code --quiet --ours --theirs --base`),
			values: diffValues,
		},
		"log":  {bools: set(diffFlags, logFlags), values: logValues, number: true},
		"show": {bools: set(diffFlags, logFlags, `--quiet -q`), values: logValues, number: true},
		"add": {
			bools: set(`-A --all --no-all -u --update -n --dry-run -v --verbose -N --intent-to-add --refresh
			--ignore-errors --ignore-missing --renormalize --ignore-removal --no-ignore-removal`),
			values:  map[string]valueRule{"--chmod": anyJoined},
			cluster: true,
		},
		"commit": {
			bools: set(`-a --all -s --signoff -q --quiet -v --verbose --amend --no-edit --allow-empty
			--allow-empty-message --reset-author --dry-run --short --porcelain --branch --long -z
			--no-gpg-sign --status --no-status -i --include -o --only --no-signoff`),
			values: map[string]valueRule{
				"-m": anySeparate, "--message": anySeparate, "-F": zoneFile, "--file": zoneFile,
				"--author": anyJoined, "--date": anyJoined, "--cleanup": anyJoined,
				"--fixup": {joined: true, check: plainFixup},
				"-C":      anySeparate, "--reuse-message": anyJoined, "--squash": anyJoined,
			},
			cluster: true,
			check:   checkCommit,
		},
		"branch": {
			bools: set(`-a --all -r --remotes -v -vv --verbose -q --quiet -l --list --show-current
			--contains --no-contains --merged --no-merged --points-at --column --no-column -i
			--ignore-case --color --no-color --abbrev --no-abbrev -d --delete -m --move
			-t --track --no-track --create-reflog`),
			values: values(
				all(optionalJoined, `--contains --no-contains --merged --no-merged --color --column --abbrev --track`),
				all(anyJoined, `--points-at --sort`),
				map[string]valueRule{"-u": anySeparate, "--set-upstream-to": anySeparate, "--format": format}),
			cluster: true,
		},
		"checkout": {
			bools: set(`-q --quiet --progress --no-progress -t --track --no-track --detach -d --ours --theirs
			--guess --no-guess --overlay --no-overlay --no-recurse-submodules`),
			values: map[string]valueRule{
				"-b": anySeparate, "--orphan": anySeparate, "--track": optionalJoined, "--conflict": anyJoined,
			},
			cluster: true,
		},
		"switch": {
			bools: set(`-q --quiet --progress --no-progress -t --track --no-track --detach -d --guess
			--no-guess --no-recurse-submodules`),
			values: map[string]valueRule{
				"-c": anySeparate, "--create": anySeparate, "--orphan": anySeparate,
				"--track": optionalJoined, "--conflict": anyJoined,
			},
			cluster: true,
		},
		"restore": {
			bools: set(`-S --staged -W --worktree -q --quiet --progress --no-progress --ours --theirs
			--ignore-unmerged --overlay --no-overlay --no-recurse-submodules`),
			values:  map[string]valueRule{"-s": anySeparate, "--source": anySeparate, "--conflict": anyJoined},
			cluster: true,
		},
		"stash": {
			bools: set(`-u --include-untracked -a --all -k --keep-index --no-keep-index -q --quiet -S --staged
			--index -p --patch --stat --name-only --name-status --only-untracked --oneline`),
			values: map[string]valueRule{"-m": anySeparate, "--message": anySeparate},
			check:  checkStash,
		},
		"rev-parse": {
			bools: set(`--verify -q --quiet --abbrev-ref --short --symbolic --symbolic-full-name --all
			--branches --tags --remotes --show-toplevel --show-prefix --show-cdup --git-dir
			--absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir
			--is-bare-repository --is-shallow-repository --show-superproject-working-tree
			--show-object-format --revs-only --no-revs --flags --no-flags --sq --not`),
			values: values(
				all(optionalJoined, `--abbrev-ref --short --branches --tags --remotes --show-object-format`),
				all(anyJoined, `--path-format --since --until --after --before`)),
		},
		"ls-files": {
			bools: set(`-c --cached -d --deleted -m --modified -o --others -i --ignored -s --stage -u
			--unmerged -k --killed -t -v -f -z --exclude-standard --full-name --error-unmatch --directory
			--no-empty-directory --abbrev --eol --deduplicate --debug`),
			values: map[string]valueRule{
				"-x": anySeparate, "--exclude": anyJoined, "--abbrev": optionalJoined, "--format": anyJoined,
			},
			cluster: true,
		},
		"blame": {
			bools: set(`-b -l -t -s -e --show-email -w -M -C -p --porcelain --line-porcelain --incremental
			--root --show-stats -f --show-name -n --show-number -c --score-debug --first-parent
			--progress --no-progress --color-lines --color-by-age --abbrev --minimal`),
			values: map[string]valueRule{
				"-L": anySeparate, "--since": anyJoined, "--date": anyJoined, "--abbrev": anyJoined,
				"--ignore-rev": anySeparate, "--diff-algorithm": anyJoined,
			},
		},
		"tag": {
			bools: set(`-l --list -n --contains --no-contains --merged --no-merged --points-at --column
			--no-column -i --ignore-case --color -a --annotate --no-sign --create-reflog`),
			values: values(
				all(optionalJoined, `-n --contains --no-contains --merged --no-merged --color --column`),
				all(anyJoined, `--points-at --sort --cleanup`),
				map[string]valueRule{
					"--format": format, "-m": anySeparate, "--message": anySeparate,
					"-F": zoneFile, "--file": zoneFile,
				}),
			check: checkTag,
		},
		"remote": {
			bools: set(`-v --verbose -n --all --push`),
			check: checkRemote,
		},
		"worktree": {
			bools: set(`-v --verbose --porcelain -z -q --quiet -d --detach -n --dry-run --checkout
			--no-checkout --guess-remote --no-guess-remote --track --no-track`),
			values: map[string]valueRule{"-b": anySeparate},
			check:  checkWorktree,
		},
	}
})

// plainFixup refuses amend: and reword:, which open an editor.
func plainFixup(c *Classifier, _ gitCommand, w word) *finding {
	if strings.Contains(w.text, ":") {
		return c.object(CodeGitEditor, w.at, "--fixup="+w.text)
	}
	return nil
}

// checkCommit objects to a commit that would wait for an editor.
func checkCommit(c *Classifier, g gitCommand, p parsed) *finding {
	if p.has("-m", "--message", "-F", "--file", "-C", "--reuse-message", "--fixup", "--no-edit", "--dry-run",
		"--short", "--porcelain", "--long") {
		return nil
	}
	return c.object(CodeGitEditor, g.at, "")
}

func checkTag(c *Classifier, g gitCommand, p parsed) *finding {
	if p.has("-a", "--annotate") && !p.has("-m", "--message", "-F", "--file") {
		return c.object(CodeGitEditor, g.at, "")
	}
	return nil
}

// stashForms are the forms of git stash and the flags of each.
var stashForms = map[string]map[string]bool{
	"push": set(`-u --include-untracked -a --all -k --keep-index --no-keep-index -q --quiet -S --staged -m --message`),
	"list": set(`--oneline --stat -p --patch --name-only --name-status`),
	"show": set(`-p --patch --stat --name-only --name-status -u --include-untracked --only-untracked`),
	"pop":  set(`--index -q --quiet`), "apply": set(`--index -q --quiet`),
	"drop": set(`-q --quiet`), "clear": {}, "branch": {},
}

func checkStash(c *Classifier, g gitCommand, p parsed) *finding {
	form := "push"
	// The form is the first argument of all; a flag before it means push.
	if len(g.args) > 0 && !strings.HasPrefix(g.args[0].text, "-") {
		form = g.args[0].text
	}
	allowed, ok := stashForms[form]
	if !ok {
		return c.object(CodeGitForm, g.at, "stash "+form)
	}
	for f := range p.flags {
		if !allowed[f] {
			return c.object(CodeGitForm, g.at, "stash "+form+" "+f)
		}
	}
	return nil
}

// checkRemote allows the forms that neither write the configuration nor ask
// the network.
func checkRemote(c *Classifier, g gitCommand, p parsed) *finding {
	form := ""
	if len(p.operands) > 0 {
		form = p.operands[0].text
	}
	switch {
	case form == "" && !p.has("-n", "--all", "--push"),
		form == "show" && len(p.operands) == 2 && p.has("-n") && !p.has("--all", "--push"),
		form == "get-url" && len(p.operands) == 2 && !p.has("-n"):
		return nil
	}
	return c.object(CodeGitForm, g.at, strings.TrimSpace("remote "+form))
}

func checkWorktree(c *Classifier, g gitCommand, p parsed) *finding {
	form := ""
	if len(p.operands) > 0 {
		form = p.operands[0].text
	}
	switch {
	case form == "list" && len(p.operands) == 1,
		form == "prune" && len(p.operands) == 1:
		return nil
	case form == "add" && len(p.operands) >= 2, form == "remove" && len(p.operands) == 2:
		return c.worktreePath(g, p.operands[1])
	}
	return c.object(CodeGitForm, g.at, strings.TrimSpace("worktree "+form))
}

// worktreePath judges where a worktree comes to lie as a file tool's path is.
func (c *Classifier) worktreePath(g gitCommand, w word) *finding {
	if f := c.gitFile(g, w); f != nil {
		return f
	}
	name := path.Clean(c.absolute(w, g.dir))
	if l, ok := c.w.Zone.MatchLater(name); ok {
		return c.object(CodeGitForm, w.at, l.Name+" is executed by "+l.By)
	}
	return nil
}
