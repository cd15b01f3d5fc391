package policy

import "strings"

// Code is a stable reason code.
type Code string

// The codes of shell text.
const (
	CodeByte       Code = "byte"        // a byte or character that two readers may see differently
	CodeLength     Code = "length"      // more than 16 KiB
	CodeEmpty      Code = "empty"       // nothing to run
	CodeUnparsed   Code = "unparsed"    // bash or zsh would not parse it
	CodeDisagree   Code = "disagree"    // bash and zsh read different arguments
	CodeOperator   Code = "operator"    // commands joined by anything but &&
	CodeBackground Code = "background"  // & and its kin
	CodeNegated    Code = "negated"     // !
	CodeCompound   Code = "compound"    // anything but a simple command
	CodeAssignment Code = "assignment"  // NAME=value before a command
	CodeRedirect   Code = "redirect"    // any but the harmless five
	CodeComment    Code = "comment"     // #
	CodeExpansion  Code = "expansion"   // $ ` <( >(
	CodeBackslash  Code = "backslash"   // \ outside single quotes
	CodeGlob       Code = "glob"        // * ? [ ] and extended patterns
	CodeBrace      Code = "brace"       // { }
	CodeHistory    Code = "history"     // ! outside single quotes
	CodeTilde      Code = "tilde"       // ~ that is not a leading ~/
	CodeEquals     Code = "equals"      // zsh's =cmd
	CodeCharacter  Code = "character"   // another character that needs quotes
	CodeSegments   Code = "segments"    // more than 50 commands
	CodeEnv        Code = "environment" // the environment would change what runs
)

// The codes of single commands.
const (
	CodePlain         Code = "plain-command"   // neither sbox, git nor a vetted helper
	CodeRemembered    Code = "remembered"      // green: a human allowed it before
	CodeSbox          Code = "sbox"            // green: one clean sbox command
	CodeSboxFlag      Code = "sbox-flag"       // a flag that widens the cage, or an unknown one
	CodeSboxNoCommand Code = "sbox-no-command" // nothing to cage
	CodeSboxOther     Code = "sbox-other"      // not the installed sbox
	CodeHelper        Code = "helper"          // green: a vetted helper
	CodeHelperUnsafe  Code = "helper-unsafe"   // others could change the helper
	CodeHelperWord    Code = "helper-word"     // an argument zsh could expand

	CodeGit           Code = "git"            // green: local git, run in the cage
	CodeGitNetwork    Code = "git-network"    // green: git over the network, by way of cage-gate
	CodeGitPath       Code = "git-path"       // git by a path, not by its name
	CodeGitGlobal     Code = "git-global"     // a global option
	CodeGitDir        Code = "git-dir"        // -C or the current directory outside the zone
	CodeGitSubcommand Code = "git-subcommand" // not on the list
	CodeGitFlag       Code = "git-flag"       // a flag that is not on the subcommand's list
	CodeGitValue      Code = "git-value"      // a flag's value that is not allowed
	CodeGitForm       Code = "git-form"       // a form of the subcommand that is not allowed
	CodeGitEditor     Code = "git-editor"     // would open an editor
	CodeGitOperand    Code = "git-operand"    // a path outside the zone
	CodeGitBare       Code = "git-bare"       // push, pull or fetch without remote and branch
	CodeGitRemote     Code = "git-remote"     // not the name of a remote
	CodeGitRef        Code = "git-ref"        // not a plain ref
	CodeGitNoHelper   Code = "git-no-network" // no helper for network git
	CodeGitUnapproved Code = "git-unapproved" // the remote awaits a human's approval
)

// The codes of tools and files.
const (
	CodeReadOnly    Code = "read-only-tool"
	CodeMCPAllowed  Code = "mcp-allowed"
	CodeMCP         Code = "mcp"
	CodeTool        Code = "unknown-tool"
	CodeInput       Code = "tool-input"      // a key or type the tool does not have
	CodePatch       Code = "patch"           // not a patch that names its files
	CodeUnsandboxed Code = "unsandboxed"     // dangerouslyDisableSandbox
	CodeFile        Code = "file"            // green: a file in the zone
	CodePath        Code = "path"            // not an absolute path in normal form
	CodePathByte    Code = "path-byte"       // a character that hides what the path is
	CodePathOutside Code = "path-outside"    // outside the zone
	CodePathLink    Code = "path-link"       // leads out of the zone through a symlink
	CodePathCache   Code = "path-cache"      // in ~/.cache
	CodePathLater   Code = "path-later"      // the host executes it later
	CodePathGit     Code = "path-git"        // in a git directory
	CodePathSpecial Code = "path-special"    // not a regular file
	CodePathUnknown Code = "path-unreadable" // the file system did not answer
	CodeWorkingDir  Code = "cwd"             // the current directory is not an absolute, clean path
)

// rule describes a code for humans and agents.
type rule struct {
	code     Code
	section  string // the rule it belongs to
	sentence string // what was wrong and what would have been green
	key      string // the configuration key that changes it, if one does
}

const wrap = "wrap the whole of it as sbox bash -c '…' to run it in the cage without asking"

// rules is a list and not a map so that it costs nothing at start.
var rules = [...]rule{
	{CodeByte, "byte gate", "The command contains a character that shells read differently; without control, zero-width and bidirectional characters, " + wrap + ".", ""},
	{CodeLength, "byte gate", "The command is longer than 16 KiB; put it into a script in the project and run sbox bash SCRIPT.", ""},
	{CodeEmpty, "positive match", "There is no command; one clean sbox command would be green.", ""},
	{CodeUnparsed, "parse", "The command does not parse as both bash and zsh; " + wrap + ".", ""},
	{CodeDisagree, "parse", "bash and zsh read this command differently; " + wrap + ".", ""},
	{CodeOperator, "positive match", "Only && may join green commands; " + wrap + ".", ""},
	{CodeBackground, "positive match", "A background command is not green; start it inside the cage, " + wrap + ".", ""},
	{CodeNegated, "positive match", "A negated command is not green; " + wrap + ".", ""},
	{CodeCompound, "positive match", "Only simple commands are green outside the cage; " + wrap + ".", ""},
	{CodeAssignment, "positive match", "A variable before a command is not green; write sbox env NAME=value COMMAND instead.", ""},
	{CodeRedirect, "positive match", "Only 2>&1, >&2 and redirections to or from /dev/null are green; for others " + wrap + ".", ""},
	{CodeComment, "positive match", "A comment is not green; leave it out.", ""},
	{CodeExpansion, "positive match", "Variables and substitutions are not green outside single quotes; " + wrap + ".", ""},
	{CodeBackslash, "positive match", "A backslash is green inside single quotes only; use single quotes.", ""},
	{CodeGlob, "positive match", "A pattern is green inside quotes only; quote it, or " + wrap + ".", ""},
	{CodeBrace, "positive match", "Braces are green inside quotes only; quote them.", ""},
	{CodeHistory, "positive match", "An exclamation mark is green inside single quotes only; use single quotes.", ""},
	{CodeTilde, "positive match", "Of tildes only a leading ~/ of an argument and one after a name, as in HEAD~1, are green; write the absolute path.", ""},
	{CodeEquals, "positive match", "A word with a leading = is green inside quotes only; quote it.", ""},
	{CodeCharacter, "positive match", "This character is green inside quotes only; quote the word.", ""},
	{CodeSegments, "positive match", "More than 50 commands in one line are not green; " + wrap + ".", ""},
	{CodeEnv, "environment", "The environment changes what a command runs, so no shell command is green.", ""},

	{CodePlain, "green commands", "Only sbox, scoped git and vetted helpers are green; put sbox before the command to run it in the cage without asking.", "helpers"},
	{CodeRemembered, "green commands", "A human allowed this command before; cage-gate allowed lists such.", ""},
	{CodeSbox, "green commands", "A clean sbox command runs in the cage.", ""},
	{CodeSboxFlag, "green commands", "This flag of sbox is not green; leave it out.", ""},
	{CodeSboxNoCommand, "green commands", "sbox needs a command; sbox COMMAND would be green.", ""},
	{CodeSboxOther, "green commands", "This is not the installed sbox; write just sbox.", ""},
	{CodeHelper, "green commands", "A vetted helper.", "helpers"},
	{CodeHelperUnsafe, "green commands", "The vetted helper is missing, inside the zone, or others could change it; a human has to repair its installation.", "helpers"},
	{CodeHelperWord, "green commands", "An argument of a vetted helper has to be literal; put it into single quotes.", "helpers"},

	{CodeGit, "scoped git", "Local git runs in the cage.", ""},
	{CodeGitNetwork, "scoped git", "Git over the network runs by way of cage-gate.", ""},
	{CodeGitPath, "scoped git", "Git is green by its name only; write just git.", ""},
	{CodeGitGlobal, "scoped git", "Of git's global options only -C DIR, --no-pager and --no-optional-locks are green.", ""},
	{CodeGitDir, "scoped git", "Git is green inside the zone only; work in a directory of the zone.", ""},
	{CodeGitSubcommand, "scoped git", "This git subcommand is not green; sbox git … runs it in the cage with the repository read-only.", ""},
	{CodeGitFlag, "scoped git", "This flag is not on the list of the git subcommand, abbreviations are never; spell it out or leave it away.", ""},
	{CodeGitValue, "scoped git", "The value of this git flag is not green.", ""},
	{CodeGitForm, "scoped git", "This form of the git subcommand is not green.", ""},
	{CodeGitEditor, "scoped git", "This would open an editor; give the message with -m.", ""},
	{CodeGitOperand, "scoped git", "A path outside the zone is not green for git; name paths inside the repository.", ""},
	{CodeGitBare, "scoped git", "Name remote and branch, as in git push origin BRANCH; a bare push, pull or fetch is never green.", ""},
	{CodeGitRemote, "scoped git", "Only the name of a configured remote is green here, never a URL or a path.", ""},
	{CodeGitRef, "scoped git", "Only plain branch and tag names are green here, no +, : or patterns.", ""},
	{CodeGitNoHelper, "scoped git", "Git over the network is not set up for running without asking here.", ""},
	{CodeGitUnapproved, "scoped git", "This remote awaits a human's approval.", ""},

	{CodeReadOnly, "tools", "A read-only tool: the harness's own rules apply.", ""},
	{CodeMCPAllowed, "tools", "This MCP tool is allowed by the configuration.", "mcp-allow"},
	{CodeMCP, "tools", "MCP tools are gated unless a human allows them by exact name.", "mcp-allow"},
	{CodeTool, "tools", "This tool is not on the list of read-only ones; sbox COMMAND in the shell would be green.", ""},
	{CodeInput, "envelope", "The tool's input has a key or a type that is not known.", ""},
	{CodePatch, "input", "The patch cannot be read with certainty; one from *** Begin Patch to *** End Patch that adds, updates, deletes or moves files in the zone is green.", ""},
	{CodeUnsandboxed, "envelope", "A command that asks to leave the harness's own sandbox is not green; leave the key out.", ""},

	{CodeFile, "files", "A file in the zone.", ""},
	{CodePath, "files", "Only an absolute path without .. and trailing slash is green.", ""},
	{CodePathByte, "files", "The path contains a character that hides what it is.", ""},
	{CodePathOutside, "files", "The file is outside the zone; files inside it are green.", "roots"},
	{CodePathLink, "files", "The path leads out of the zone through a symlink; the file's own path inside the zone would be green.", "roots"},
	{CodePathCache, "files", "~/.cache is not for files of one's own; files in the project or /tmp are green.", ""},
	{CodePathLater, "files", "The host executes this file later, so a human decides; ordinary files of the project are green.", ""},
	{CodePathGit, "files", "This is a file of a git directory; ordinary files of the project are green, and git's own commands.", ""},
	{CodePathSpecial, "files", "Only a regular file with one name is green.", ""},
	{CodePathUnknown, "files", "The path could not be examined.", ""},
	{CodeWorkingDir, "envelope", "The current directory is not an absolute, clean path.", ""},
}

func ruleOf(code Code) rule {
	for i := range rules {
		if rules[i].code == code {
			return rules[i]
		}
	}
	return rule{}
}

// Explain returns the rule a code belongs to, what it says, and the
// configuration key that changes it, empty if none does.
func Explain(code Code) (section, text, key string) {
	r := ruleOf(code)
	return r.section, r.sentence, r.key
}

// sentence is the reason for the agent: the code's sentence, with what
// exactly was found put before its end.
func sentence(code Code, detail string) string {
	s := ruleOf(code).sentence
	if detail == "" {
		return s
	}
	return strings.TrimSuffix(s, ".") + " (" + detail + ")."
}
