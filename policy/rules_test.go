package policy

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/agent-cage/agent-cage/policy/strictjson"
)

func writeCall(tool, key, path string) Call {
	in := strictjson.Value{Kind: strictjson.Object}
	return Call{Tool: tool, Input: in.With(key, path), Cwd: repo}
}

func TestFiles(t *testing.T) {
	for _, l := range battery(t, "files") {
		codes, name := rulesOf(l.field[0]), expand(l.field[1])
		for tool, key := range map[string]string{
			"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path",
		} {
			v := New(world()).Classify(writeCall(tool, key, name))
			if v.Code != codes[0] || (v.Class == Green) != (codes[0] == CodeFile) {
				t.Errorf("%s: %s %q is %s (%s), want %s", l.where, tool, name, v.Class, v.Code, codes[0])
			}
		}
		if codes[0] == CodeFile || strings.HasSuffix(l.field[0], "!") {
			continue
		}
		if v := without(world(), codes[0]).Classify(writeCall("Write", "file_path", name)); v.Code == codes[0] {
			t.Errorf("%s: %q is still gated by %s without that rule", l.where, name, codes[0])
		}
		if v := without(world(), codes...).Classify(writeCall("Write", "file_path", name)); v.Class != Green {
			t.Errorf("%s: %q is gated by %s without %v", l.where, name, v.Code, codes)
		}
	}
}

func TestPatches(t *testing.T) {
	call := func(patch string) Call {
		in := strictjson.Value{Kind: strictjson.Object}
		return Call{Tool: "apply_patch", Input: in.With("command", patch), Cwd: repo}
	}
	for _, l := range battery(t, "patches") {
		codes, patch := rulesOf(l.field[0]), l.field[1]
		v := New(world()).Classify(call(patch))
		if v.Code != codes[0] || (v.Class == Green) != (codes[0] == CodeFile) || v.Rewrite != "" {
			t.Errorf("%s: %q is %s (%s), want %s", l.where, patch, v.Class, v.Code, codes[0])
		}
		if codes[0] == CodeFile || strings.HasSuffix(l.field[0], "!") {
			continue
		}
		if v := without(world(), codes...).Classify(call(patch)); v.Class != Green {
			t.Errorf("%s: %q is gated by %s without %v", l.where, patch, v.Code, codes)
		}
	}
	const patch = "*** Begin Patch\n*** Delete File: main.go\n*** End Patch"
	for _, cwd := range []string{"", ".", "projects/app", "/etc", repo + "/../../.."} {
		c := call(patch)
		c.Cwd = cwd
		if v := New(world()).Classify(c); v.Class != Gated {
			t.Errorf("in %q a relative name is %s (%s)", cwd, v.Class, v.Code)
		}
	}
	c := call(patch)
	c.Input = c.Input.With("environment", "other")
	if v := New(world()).Classify(c); v.Code != CodeInput {
		t.Errorf("with an unknown key it is %s (%s)", v.Class, v.Code)
	}
}

func TestWritingAHelperIsGated(t *testing.T) {
	w := world()
	w.Helpers = append(w.Helpers, "/tmp/tool")
	if v := New(w).Classify(writeCall("Write", "file_path", "/tmp/tool")); v.Code != CodePathLater {
		t.Errorf("got %s (%s)", v.Class, v.Code)
	}
}

func TestEnvironment(t *testing.T) {
	commands := []string{"sbox ls", "git status", "/home/u/work/gh-issue list", "/usr/local/bin/sbox ls"}
	for _, l := range battery(t, "environment") {
		want, kv := l.field[0], l.field[1]
		name, _, _ := strings.Cut(kv, "=")
		w := world()
		for i, old := range w.Env {
			if strings.HasPrefix(old, name+"=") {
				w.Env = append(w.Env[:i:i], w.Env[i+1:]...)
				break
			}
		}
		w.Env = append(w.Env, kv)
		for _, command := range commands {
			v := New(w).Classify(Command(command, repo))
			if (v.Class == Green) != (want != "no") {
				t.Errorf("%s: with %s, %q is %s (%s)", l.where, kv, command, v.Class, v.Code)
			}
			if want == "no" && v.Code != CodeEnv {
				t.Errorf("%s: with %s, %q is gated by %s", l.where, kv, command, v.Code)
			}
			project := world()
			project.ProjectEnv = []string{kv}
			v = New(project).Classify(Command(command, repo))
			if (v.Class == Green) != (want == "yes") {
				t.Errorf("%s: with %s of the project, %q is %s (%s)", l.where, kv, command, v.Class, v.Code)
			}
		}
		if want == "no" && name != "PATH" {
			if v := without(w, CodeEnv).Classify(Command("sbox ls", repo)); v.Class != Green {
				t.Errorf("%s: without the rule it is still gated by %s", l.where, v.Code)
			}
		}
	}
}

func TestEnvironmentFaults(t *testing.T) {
	w := world()
	w.ProjectEnvFault = "not JSON"
	if v := New(w).Classify(Command("sbox ls", repo)); v.Code != CodeEnv || !strings.Contains(v.Reason, "not JSON") {
		t.Errorf("settings that cannot be read: %s, %s", v.Code, v.Reason)
	}
	w = world()
	w.Env = append(w.Env, "PATH=/usr/bin")
	if v := New(w).Classify(Command("sbox ls", repo)); v.Code != CodeEnv {
		t.Errorf("two PATHs: %s (%s)", v.Class, v.Code)
	}
	// Tools that write files run no command.
	if v := New(w).Classify(writeCall("Write", "file_path", "/tmp/x")); v.Class != Green {
		t.Errorf("a file is gated by the environment: %s", v.Code)
	}
}

func TestWhichSbox(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*World)
		green  bool
	}{
		"as it is":              {func(*World) {}, true},
		"none beside cage-gate": {func(w *World) { w.SelfDir = "/opt/none" }, true},
		"none anywhere":         {func(w *World) { delete(w.FS.(memFS), "/usr/local/bin/sbox") }, false},
		"another first on PATH": {func(w *World) { w.FS.(memFS)["/opt/first/sbox"] = ""; w.Env[0] = "PATH=/opt/first:/usr/local/bin" }, false},
		"writable by others":    {func(w *World) { w.FS.(memFS)["/usr/local/bin/sbox"] = "mode=757" }, false},
		"somebody else's":       {func(w *World) { w.FS.(memFS)["/usr/local/bin/sbox"] = "uid=7" }, false},
		"not executable":        {func(w *World) { w.FS.(memFS)["/usr/local/bin/sbox"] = "mode=644" }, false},
		"a FIFO":                {func(w *World) { w.FS.(memFS)["/usr/local/bin/sbox"] = "fifo" }, false},
		"links into the zone":   {func(w *World) { w.FS.(memFS)["/usr/local/bin/sbox"] = "-> /tmp/sbox" }, false},
		"in an open directory":  {func(w *World) { w.FS.(memFS)["/usr/local/bin/"] = "open" }, false},
		"not on PATH":           {func(w *World) { w.Env[0] = "PATH=/usr/bin" }, true},
	} {
		w := world()
		c.change(&w)
		v := New(w).Classify(Command("sbox ls", repo))
		if (v.Class == Green) != c.green {
			t.Errorf("%s: sbox is %s (%s)", name, v.Class, v.Code)
		}
	}
	// Git needs sbox for its rewrite, wherever it is.
	w := world()
	delete(w.FS.(memFS), "/usr/local/bin/sbox")
	if v := New(w).Classify(Command("git status", repo)); v.Class != Gated || v.Code != CodeSboxOther {
		t.Errorf("git without an sbox is %s (%s)", v.Class, v.Code)
	}
	w = world()
	w.SelfDir = "/opt/none"
	if v := New(w).Classify(Command("git status", repo)); v.Rewrite != "/usr/local/bin/sbox --git git status" {
		t.Errorf("the sbox on PATH is not used: %q, %s", v.Rewrite, v.Code)
	}
}

func TestHelpers(t *testing.T) {
	const name = "/home/u/work/gh-issue"
	for what, file := range map[string]string{
		"writable by others": "mode=757 uid=1750", "writable by the group": "mode=775 uid=1750",
		"somebody else's": "uid=7", "not executable": "mode=644 uid=1750", "a link into the zone": "-> /tmp/sbox",
		"a directory above is somebody's": "",
	} {
		w := world()
		if file != "" {
			w.FS.(memFS)[name] = file
		} else {
			w.FS.(memFS)["/home/u/work/"] = "open"
		}
		v := New(w).Classify(Command(name+" list", repo))
		if v.Class != Gated || v.Code != CodeHelperUnsafe {
			t.Errorf("%s: %s (%s)", what, v.Class, v.Code)
		}
		if v := without(w, CodeHelperUnsafe).Classify(Command(name+" list", repo)); v.Class != Green {
			t.Errorf("%s: without the rule gated by %s", what, v.Code)
		}
	}
	w := world()
	w.Helpers = []string{"/tmp/sbox2", "/home/u/none"}
	w.FS.(memFS)["/tmp/sbox2"] = ""
	for _, h := range w.Helpers {
		if v := New(w).Classify(Command(h+" x", repo)); v.Code != CodeHelperUnsafe {
			t.Errorf("%s: %s (%s)", h, v.Class, v.Code)
		}
	}
}

func TestNetworkGit(t *testing.T) {
	w := world()
	var asked []string
	w.NetworkGit = func(dir, remote, verb string) (bool, string) {
		asked = append(asked, dir+" "+remote+" "+verb)
		return remote == "origin", "Approve it with cage-gate remotes add."
	}
	c := New(w)
	for command, want := range map[string]string{
		"git push origin main":               "/usr/local/bin/cage-gate git push origin main",
		"git push -u origin feature/x":       "/usr/local/bin/cage-gate git push -u origin feature/x",
		"git -C sub pull --ff-only origin a": "/usr/local/bin/cage-gate git -C sub pull --ff-only origin a",
		"git fetch origin":                   "/usr/local/bin/cage-gate git fetch origin",
		"git fetch --prune origin main 2>&1": "/usr/local/bin/cage-gate git fetch --prune origin main 2>&1",
		"git add . && git push origin main":  "/usr/local/bin/sbox --git git add . && /usr/local/bin/cage-gate git push origin main",
		"sbox ls && git push origin v1.0":    "/usr/local/bin/sbox ls && /usr/local/bin/cage-gate git push origin v1.0",
	} {
		if v := c.Classify(Command(command, repo)); v.Class != Green || v.Rewrite != want {
			t.Errorf("%q is %s (%s): %s", command, v.Class, v.Code, v.Rewrite)
		}
	}
	v := c.Classify(Command("git push other main", repo))
	if v.Class != Gated || v.Code != CodeGitUnapproved || v.Reason != "Approve it with cage-gate remotes add." {
		t.Errorf("an unapproved remote: %s (%s) %s", v.Class, v.Code, v.Reason)
	}
	n := len(asked)
	for _, l := range battery(t, "git") {
		if !strings.Contains(l.field[0], "git-no-network") || rulesOf(l.field[0])[0] == CodeGitNoHelper {
			continue
		}
		if v := c.Classify(Command(expand(l.field[1]), repo)); v.Class != Gated {
			t.Errorf("%s: %q is green with the helper there", l.where, l.field[1])
		}
	}
	if len(asked) != n {
		t.Errorf("the approvals were asked about what is never green: %v", asked[n:])
	}
	w.NetworkGit = nil
	if v := New(w).Classify(Command("git push origin main", repo)); v.Code != CodeGitNoHelper {
		t.Errorf("without a helper: %s (%s)", v.Class, v.Code)
	}
}

func TestTools(t *testing.T) {
	input := func(s string) strictjson.Value {
		v, err := strictjson.Parse([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		tool, input string
		class       Class
		code        Code
	}{
		{"Read", `{"file_path":"/etc/passwd"}`, Ungated, CodeReadOnly},
		{"Grep", `{"pattern":"x"}`, Ungated, CodeReadOnly},
		{"view_image", `{"path":"x"}`, Ungated, CodeReadOnly},
		{"read", `{}`, Gated, CodeTool},
		{"Read ", `{}`, Gated, CodeTool},
		{"Rеad", `{}`, Gated, CodeTool},
		{"", `{}`, Gated, CodeTool},
		{"WebFetch", `{"url":"x"}`, Gated, CodeTool},
		{"WebSearch", `{"query":"x"}`, Gated, CodeTool},
		{"Agent", `{"prompt":"x"}`, Gated, CodeTool},
		{"Task", `{"prompt":"x"}`, Gated, CodeTool},
		{"Skill", `{"skill":"x"}`, Gated, CodeTool},
		{"KillShell", `{}`, Gated, CodeTool},
		{"CronCreate", `{}`, Gated, CodeTool},
		{"apply_patch", `{"command":"*** Begin Patch"}`, Gated, CodePatch},
		{"PowerShell", `{"command":"sbox ls"}`, Gated, CodeTool},
		{"bash", `{"command":"sbox ls"}`, Gated, CodeTool},
		{"mcp__docs__search", `{"q":"x"}`, Green, CodeMCPAllowed},
		{"mcp__docs__search2", `{}`, Gated, CodeMCP},
		{"mcp__docs__Search", `{}`, Gated, CodeMCP},
		{"mcp__docs", `{}`, Gated, CodeMCP},
		{"mcp__evil__mcp__docs__search", `{}`, Gated, CodeMCP},
		{"Bash", `{"command":"sbox ls"}`, Green, CodeSbox},
		{"Bash", `{"command":"sbox ls","description":"x","timeout":1000,"run_in_background":true}`, Green, CodeSbox},
		{"Bash", `{"command":"sbox ls","dangerouslyDisableSandbox":false}`, Green, CodeSbox},
		{"Bash", `{"command":"sbox ls","dangerouslyDisableSandbox":true}`, Gated, CodeUnsandboxed},
		{"Bash", `{"command":"sbox ls","dangerouslyDisableSandbox":"false"}`, Gated, CodeUnsandboxed},
		{"Bash", `{"command":"sbox ls","dangerouslyDisableSandbox":null}`, Gated, CodeUnsandboxed},
		{"Bash", `{"command":"sbox ls","DangerouslyDisableSandbox":true}`, Gated, CodeInput},
		{"Bash", `{"command":"sbox ls","Command":"rm x"}`, Gated, CodeInput},
		{"Bash", `{"command":"sbox ls","COMMAND":"rm x"}`, Gated, CodeInput},
		{"Bash", `{"command":"sbox ls","env":{"PATH":"/tmp"}}`, Gated, CodeInput},
		{"Bash", `{"command":"sbox ls","shell":"/tmp/sh"}`, Gated, CodeInput},
		{"Bash", `{"command":"sbox ls","cwd":"/etc"}`, Gated, CodeInput},
		{"Bash", `{"command":"sbox ls","timeout":"1"}`, Gated, CodeInput},
		{"Bash", `{"command":"sbox ls","run_in_background":"yes"}`, Gated, CodeInput},
		{"Bash", `{"command":["sbox","ls"]}`, Gated, CodeInput},
		{"Bash", `{"command":null}`, Gated, CodeInput},
		{"Bash", `{}`, Gated, CodeInput},
		{"Bash", `[]`, Gated, CodeInput},
		{"Bash", `"sbox ls"`, Gated, CodeInput},
		{"Bash", `null`, Gated, CodeInput},
		{"Write", `{"file_path":"/tmp/x","content":"y"}`, Green, CodeFile},
		{"Write", `{"file_path":"/tmp/x","content":"y","mode":"0755"}`, Gated, CodeInput},
		{"Write", `{"file_path":"/tmp/x","File_Path":"/etc/x"}`, Gated, CodeInput},
		{"Write", `{"path":"/tmp/x"}`, Gated, CodeInput},
		{"Write", `{"file_path":["/tmp/x"]}`, Gated, CodeInput},
		{"Edit", `{"file_path":"/tmp/x","old_string":"a","new_string":"b","replace_all":true}`, Green, CodeFile},
		{"Edit", `{"file_path":"/tmp/x","old_string":1}`, Gated, CodeInput},
		{"MultiEdit", `{"file_path":"/tmp/x","edits":[{"old_string":"a","new_string":"b"}]}`, Green, CodeFile},
		{"NotebookEdit", `{"notebook_path":"/tmp/x.ipynb","new_source":"x"}`, Green, CodeFile},
		{"NotebookEdit", `{"file_path":"/tmp/x.ipynb","new_source":"x"}`, Gated, CodeInput},
	} {
		v := New(world()).Classify(Call{Tool: c.tool, Input: input(c.input), Cwd: repo})
		if v.Class != c.class || v.Code != c.code {
			t.Errorf("%s %s is %s (%s), want %s (%s)", c.tool, c.input, v.Class, v.Code, c.class, c.code)
		}
		if v.Reason == "" {
			t.Errorf("%s %s: no reason", c.tool, c.input)
		}
		if c.code == CodeInput && strings.Contains(c.input, `"sbox ls",`) || c.code == CodeUnsandboxed {
			v := without(world(), c.code).Classify(Call{Tool: c.tool, Input: input(c.input), Cwd: repo})
			if v.Class != Green {
				t.Errorf("%s %s: without the rule gated by %s", c.tool, c.input, v.Code)
			}
		}
	}
}

func TestWorkingDirectory(t *testing.T) {
	for cwd, class := range map[string]Class{
		repo: Green, "/tmp": Green, "/home/u/projects/in": Green, "/etc": Gated, "/home/u": Gated, "/home/u/.cache": Gated,
		"/home/u/projects/out": Gated, "": Gated, ".": Gated, "projects/app": Gated, "/tmp/..": Gated, "/tmp/": Gated,
		"/tmp\x00": Gated, "/tmp/\u202e": Gated,
	} {
		if v := New(world()).Classify(Command("git status", cwd)); v.Class != class {
			t.Errorf("git status in %q is %s (%s)", cwd, v.Class, v.Code)
		}
	}
	// sbox sees to its own directory.
	if v := New(world()).Classify(Command("sbox ls", "/etc")); v.Class != Green {
		t.Errorf("sbox in /etc is gated by %s", v.Code)
	}
	// Through a symlink .. is not what it looks like.
	w := world()
	w.FS.(memFS)["/tmp/deep"] = "-> /home/u/projects"
	if v := New(w).Classify(Command("git add ../.bashrc2", "/tmp/deep")); v.Code != CodeGitOperand {
		t.Errorf("a path out by way of the directory's symlink: %s (%s)", v.Class, v.Code)
	}
}

func TestSegments(t *testing.T) {
	const command = `sbox echo "a b" && git -C ~/projects/app status 2>&1 && rm x`
	v := New(world()).Classify(Command(command, repo))
	if v.Class != Gated || command[v.At.Start:v.At.End] != "rm" {
		t.Errorf("got %s at %v", v.Class, v.At)
	}
	want := []string{"green sbox", "green git", "gated plain-command"}
	text := []string{`sbox echo "a b"`, "git -C ~/projects/app status 2>&1", "rm x"}
	args := []string{"sbox|echo|a b", "git|-C|/home/u/projects/app|status", "rm|x"}
	for i, s := range v.Segments {
		if got := string(s.Class) + " " + string(s.Code); got != want[i] || command[s.At.Start:s.At.End] != text[i] ||
			strings.Join(s.Args, "|") != args[i] {
			t.Errorf("segment %d: %+v %q", i, s, command[s.At.Start:s.At.End])
		}
	}
	if len(v.Segments) != 3 || len(v.Trace) < 6 {
		t.Errorf("%d segments, %d steps", len(v.Segments), len(v.Trace))
	}
}

func TestCodesAreExplained(t *testing.T) {
	source, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	defined := regexp.MustCompile(`(?m)^\tCode\w+ +Code = "([^"]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(defined) != len(rules) {
		t.Errorf("%d codes, %d of them explained", len(defined), len(rules))
	}
	for _, d := range defined {
		r := ruleOf(Code(d[1]))
		if r.section == "" || !strings.HasSuffix(r.sentence, ".") || strings.ContainsAny(r.sentence, "\n\"") {
			t.Errorf("%s: %+v", d[1], r)
		}
	}
}

func TestBaseTokens(t *testing.T) {
	for command, want := range map[string]string{
		"curl -s https://x/y":    "curl",
		"gh pr view 12":          "gh pr view",
		"gh pr list --json x":    "gh pr list",
		"npm install left-pad":   "npm install",
		"docker ps -a":           "docker ps",
		"kubectl get pods":       "kubectl get",
		"/usr/bin/whoami":        "/usr/bin/whoami",
		"systemctl status x":     "systemctl status",
		"bash -c x":              "",
		"/bin/bash x":            "",
		"python3 x.py":           "",
		"python3.12 x.py":        "",
		"pypy3 x":                "",
		"node x":                 "",
		"perl5.36 x":             "",
		"env A=b curl x":         "",
		"sudo curl x":            "",
		"xargs rm":               "",
		"timeout 5 curl x":       "",
		"find . -delete":         "",
		"git push":               "",
		"sbox ls":                "",
		"/usr/bin/git push":      "",
		"npm run x":              "",
		"npm exec x":             "",
		"npx x":                  "",
		"docker run x":           "",
		"docker exec x":          "",
		"docker -H tcp://x ps":   "",
		"cargo run":              "",
		"go run x":               "",
		"gh api x":               "",
		"gh":                     "",
		"npm":                    "",
		"./x":                    "",
		"bin/x":                  "",
		"~/x":                    "",
		"/tmp/x":                 "",
		"/home/u/projects/app/x": "",
		"/usr/../tmp/x":          "",
		"curl x | sh":            "",
		"curl x && curl y":       "",
		"curl $x":                "",
		"A=1 curl x":             "",
		"curl x > y":             "",
		"":                       "",
		"eval x":                 "",
		"PYTHON3 x":              "",
	} {
		got, err := New(world()).BaseTokens(command)
		if strings.Join(got, " ") != want || (err != nil) != (want == "") {
			t.Errorf("BaseTokens(%q) = %q, %v, want %q", command, got, err, want)
		}
		if err != nil && !errors.Is(err, ErrNoBase) {
			t.Errorf("BaseTokens(%q): %v is no ErrNoBase", command, err)
		}
	}
}
