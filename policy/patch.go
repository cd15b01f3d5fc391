package policy

import (
	"path"
	"strings"

	"github.com/agent-cage/agent-cage/policy/strictjson"
)

// patchTool is Codex's tool that writes files: its "command" is a patch that
// names them.
const patchTool = "apply_patch"

var patchKeys = map[string]kind{"command": strictjson.String}

// namesFile are the lines of a patch that name a file which is written,
// deleted or made by moving another.
var namesFile = []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "}

// patch decides about a patch: each file that it names is judged as one that
// is written, relative ones from the current directory.
func (c *Classifier) patch(text, cwd string, t *trace) Verdict {
	files, f := c.patchFiles(text)
	if f = t.ask("patch form", f); f != nil {
		return f.verdict()
	}
	for _, name := range files {
		if !path.IsAbs(name) {
			if !path.IsAbs(cwd) || path.Clean(cwd) != cwd {
				return c.refuse(t, "patch form", CodeWorkingDir, "")
			}
			name = cwd + "/" + name
		}
		if v := c.write(name, t); v.Class != Green {
			return v
		}
	}
	return Verdict{Class: Green, Code: CodeFile}
}

// patchFiles returns the names in a patch. Codex takes blanks off a line
// before it looks what the line is, so that an indented line names a file
// too, wherever it stands.
func (c *Classifier) patchFiles(text string) ([]string, *finding) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if lines[0] != "*** Begin Patch" || lines[len(lines)-1] != "*** End Patch" {
		if f := c.object(CodePatch, Span{}, "it does not begin and end as one"); f != nil {
			return nil, f
		}
	}
	var files []string
	for _, l := range lines {
		bare := strings.TrimSpace(l)
		name, ok := patchFile(bare)
		switch {
		case ok:
			files = append(files, name)
		case bare == "*** Begin Patch", bare == "*** End Patch", bare == "*** End of File":
		case strings.HasPrefix(l, "***") || strings.HasPrefix(bare, "*** Environment ID:"):
			if f := c.object(CodePatch, Span{}, Quote(bare)); f != nil {
				return nil, f
			}
		}
	}
	if len(files) == 0 {
		return nil, &finding{code: CodePatch, detail: "it names no file"}
	}
	return files, nil
}

func patchFile(line string) (string, bool) {
	for _, prefix := range namesFile {
		if name, ok := strings.CutPrefix(line, prefix); ok {
			return name, true
		}
	}
	return "", false
}
