package face

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

var claude = Grammar{Prefix: "CLAUDE_BOX", DirArgument: true}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if n, v, _ := strings.Cut(p, "="); n == name {
				return v
			}
		}
		return ""
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		name string
		args []string
		env  []string
		want Options
	}{
		{"nothing", nil, nil, Options{}},
		{"harness arguments untouched", []string{"-p", "say --hello", "--model=x", ""}, nil, Options{Args: []string{"-p", "say --hello", "--model=x", ""}}},
		{"flags taken wherever they stand", []string{"-p", "hi", "--name", "job-1", "--dry-run"}, nil, Options{Name: "job-1", Action: DryRun, Args: []string{"-p", "hi"}}},
		{"flag with equals", []string{"--name=job", "--memory=2g", "--cpus=1.5", "--pids-limit=100"}, nil, Options{Name: "job", Limits: plan.Limits{MemoryBytes: 2 << 30, NanoCPUs: 15e8, PidsLimit: 100}}},
		{"time limit", []string{"--timeout", "1h30m", "-p"}, nil, Options{Limits: plan.Limits{Timeout: 90 * time.Minute}, Args: []string{"-p"}}},
		{"dockerfile", []string{"--dockerfile", "my/Dockerfile", "-p"}, nil, Options{Dockerfile: "my/Dockerfile", Args: []string{"-p"}}},
		{"dry run as data", []string{"--dry-run=json", "-p"}, nil, Options{Action: DryRun, Form: AsJSON, Args: []string{"-p"}}},
		{"dry run as a command", []string{"--dry-run=docker"}, nil, Options{Action: DryRun, Form: AsDocker}},
		{"dry run takes no further word", []string{"--dry-run", "json"}, nil, Options{Action: DryRun, Args: []string{"json"}}},
		{"dashes end the flags", []string{"--name", "a1", "--", "--name", "b", "--"}, nil, Options{Name: "a1", Args: []string{"--name", "b", "--"}}},
		{"a name is the box's", []string{"--name", "ab", "--name-file", "f"}, nil, Options{Name: "ab", NameFile: "f"}},
		{"behind dashes a name is the harness's", []string{"--", "--name", "x"}, nil, Options{Args: []string{"--name", "x"}}},
		{"behind dashes a later flag is the harness's", []string{"--", "--gate"}, nil, Options{Args: []string{"--gate"}}},
		{"directory", []string{"./x", "-p", "hi"}, nil, Options{Dir: "./x", Args: []string{"-p", "hi"}}},
		{"directory after flags", []string{"--engine", "none", "/x", "go"}, nil, Options{Engine: plan.None, Dir: "/x", Args: []string{"go"}}},
		{"only the first is a directory", []string{"-p", "/x"}, nil, Options{Args: []string{"-p", "/x"}}},
		{"a bare word is none", []string{"x"}, nil, Options{Args: []string{"x"}}},
		{"a dotfile is none", []string{".x"}, nil, Options{Args: []string{".x"}}},
		{"home", []string{"~"}, nil, Options{Dir: "~"}},
		{"not after dashes", []string{"--", "/x"}, nil, Options{Args: []string{"/x"}}},
		{"never with exec", []string{"/bin/true", "--exec"}, nil, Options{Exec: true, Args: []string{"/bin/true"}}},
		{"never with exec by variable", []string{"/bin/true"}, []string{"CLAUDE_BOX_EXEC=1"}, Options{Exec: true, Args: []string{"/bin/true"}}},
		{"widening before", []string{"--network", "host", "-p", "hi"}, nil, Options{Network: "host", Args: []string{"-p", "hi"}}},
		{"widening behind the directory", []string{"/x", "--network", "host", "-p"}, nil, Options{Dir: "/x", Network: "host", Args: []string{"-p"}}},
		{"network that does not widen, late", []string{"-p", "--network", "none"}, nil, Options{Network: "none", Args: []string{"-p"}}},
		{"an engine at once", []string{"--engine-start", "eager"}, nil, Options{EngineStart: plan.Eager}},
		{"an engine that keeps nothing", []string{"-p", "--engine-cache=off"}, nil, Options{EngineCache: true, Args: []string{"-p"}}},
		{"user", []string{"--user", "1000"}, nil, Options{User: &User{1000, 1000}}},
		{"user and group", []string{"--user", "1000:100"}, nil, Options{User: &User{1000, 100}}},
		{"variables", nil, []string{"CLAUDE_BOX_ENGINE_MODE=none", "CLAUDE_BOX_DEBUG=yes", "CLAUDE_BOX_EXTRA_VARS=A, B\tC_1", "CLAUDE_BOX_EXTRA_MOUNTS=/a:/b\n\n/c:/d/:ro\n"},
			Options{Engine: plan.None, Debug: true, ExtraVars: []string{"A", "B", "C_1"}, ExtraMounts: []Mount{{"/a", "/b", false}, {"/c", "/d", true}}}},
		{"zero is off", nil, []string{"CLAUDE_BOX_EXEC=0", "CLAUDE_BOX_DEBUG=0"}, Options{}},
		{"flag over variable", []string{"--engine=none"}, []string{"CLAUDE_BOX_ENGINE_MODE=rootless"}, Options{Engine: plan.None}},
		{"another launcher's variable", nil, []string{"CODEX_BOX_EXEC=1"}, Options{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want.Engine == "" {
				tt.want.Engine = plan.Auto
			}
			if tt.want.EngineStart == "" {
				tt.want.EngineStart = plan.OnDemand
			}
			// The zero value of the table is what most rows are about.
			tt.want.EngineCache = !tt.want.EngineCache
			got, err := Parse(claude, tt.args, env(tt.env...))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Args) == 0 {
				got.Args = nil
			}
			if len(got.ExtraVars) == 0 {
				got.ExtraVars = nil
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name string
		args []string
		env  []string
		want string
	}{
		{"flag of a later version", []string{"--gate", "off"}, nil, "--gate: this version has not got it"},
		{"flag of a later version, late", []string{"-p", "x", "--ollama=f"}, nil, "--ollama: this version has not got it"},
		{"GPUs that are none", []string{"-p", "x", "--gpus=f"}, nil, `--gpus: "f" names no GPUs: give all`},
		{"no GPU", []string{"--gpus", "0"}, nil, "--gpus: needs one GPU at least"},
		{"kvm late", []string{"-p", "--kvm"}, nil, "takes part of the wall away"},
		{"name file without a name", []string{"--name-file="}, nil, "--name-file: needs a path"},
		{"half flag", []string{"--name"}, nil, "--name needs a value"},
		{"dockerfile late", []string{"-p", "--dockerfile", "x"}, nil, "takes part of the wall away"},
		{"empty dockerfile", []string{"--dockerfile="}, nil, "needs a path"},
		{"bogus form", []string{"--dry-run=yaml"}, nil, `"yaml" is neither json nor docker`},
		{"value for none", []string{"--exec=1"}, nil, "--exec takes no value"},
		{"bogus engine", []string{"--engine", "bogus"}, nil, `--engine: "bogus" is none of auto, sysbox`},
		{"bogus start", []string{"--engine-start", "now"}, nil, `--engine-start: "now" is neither on-demand nor eager`},
		{"bogus cache", []string{"--engine-cache=yes"}, nil, `--engine-cache: "yes" is neither on nor off`},
		{"bogus engine by variable", nil, []string{"CLAUDE_BOX_ENGINE_MODE=bogus"}, "CLAUDE_BOX_ENGINE_MODE: "},
		{"name with a slash", []string{"--name", "a/b"}, nil, `--name: invalid container name "a/b"`},
		{"name of one letter", []string{"--name", "a"}, nil, "invalid container name"},
		{"name with a newline", []string{"--name", "ab\n"}, nil, "invalid container name"},
		{"empty network", []string{"--network="}, nil, "--network: needs a network"},
		{"host network late", []string{"-p", "hi", "--network", "host"}, nil, "--network host takes part of the wall away"},
		{"host network late, one argument", []string{"-p", "--network=host"}, nil, "takes part of the wall away"},
		{"container network late", []string{"-p", "--network=container:x"}, nil, "takes part of the wall away"},
		{"privileged late", []string{"-p", "--engine", "privileged-dind"}, nil, "takes part of the wall away"},
		{"user late", []string{"-p", "--user", "5"}, nil, "takes part of the wall away"},
		{"widening behind the command of exec", []string{"/bin/sh", "--exec", "--user", "5"}, nil, "takes part of the wall away"},
		{"root", []string{"--user", "0"}, nil, "never root"},
		{"root's group", []string{"--user", "5:0"}, nil, "never root"},
		{"no id", []string{"--user", "4294967295"}, nil, "no id that a file can have"},
		{"name for an id", []string{"--user", "bob"}, nil, "no numeric id"},
		{"negative memory", []string{"--memory=-1"}, nil, "is no size"},
		{"NaN cpus", []string{"--cpus=NaN"}, nil, "no number of CPUs"},
		{"few pids", []string{"--pids-limit=31"}, nil, "too few: a box needs 32"},
		{"zero pids", []string{"--pids-limit=0"}, nil, "no number of processes"},
		{"time without unit", []string{"--timeout=30"}, nil, "is no time"},
		{"no time at all", []string{"--timeout=0s"}, nil, "is no time"},
		{"negative time", []string{"--timeout=-5s"}, nil, "is no time"},
		{"bad variable name", nil, []string{"CLAUDE_BOX_EXTRA_VARS=A=B"}, "no variable's name"},
		{"relative mount", nil, []string{"CLAUDE_BOX_EXTRA_MOUNTS=a:/b"}, "not an absolute path"},
		{"mount without target", nil, []string{"CLAUDE_BOX_EXTRA_MOUNTS=/a"}, "is not source:target"},
		{"mount with unknown option", nil, []string{"CLAUDE_BOX_EXTRA_MOUNTS=/a:/b:rw,z"}, "is not source:target"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(claude, tt.args, env(tt.env...))
			var usage *UsageError
			if !errors.As(err, &usage) {
				t.Fatalf("got %v, want a *UsageError", err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, want it to contain %q", err, tt.want)
			}
		})
	}
}

func TestDirectoryOnlyWhereTheGrammarHasOne(t *testing.T) {
	got, err := Parse(Grammar{Prefix: "CODEX_BOX"}, []string{"/x"}, env())
	if err != nil {
		t.Fatal(err)
	}
	if got.Dir != "" || len(got.Args) != 1 {
		t.Errorf("got %+v, want /x left to the harness", got)
	}
	if _, err := Parse(Grammar{Prefix: "CODEX_BOX"}, []string{"/x", "--user", "5"}, env()); err == nil {
		t.Error("a widening flag behind a harness argument is taken")
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	var b bytes.Buffer
	if err := WriteHelp(&b, "claude-box", "Claude Code", claude); err != nil {
		t.Fatal(err)
	}
	for _, f := range flags {
		if !strings.Contains(b.String(), f.name) {
			t.Errorf("no word of %s", f.name)
		}
	}
}
