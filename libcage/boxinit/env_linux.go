package boxinit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// environment returns the harness's: the image's, who it is, the bundle that
// it trusts, and last the run's own, each later one winning.
func (b *box) environment() []string {
	env := mergeEnv(
		slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "HOME=") }),
		[]string{
			"HOME=" + b.account.Home,
			"USER=" + b.account.Name,
			"LOGNAME=" + b.account.Name,
			"SHELL=" + b.account.Shell,
			"PWD=" + filepath.Clean(b.run.Dir),
		},
		b.trust,
		b.run.Env,
	)
	settleLocales(b.root, env)
	return env
}

// mergeEnv joins environments; of each name the last value stays, at the place
// of the first.
func mergeEnv(parts ...[]string) []string {
	var out []string
	at := map[string]int{}
	for _, kv := range slices.Concat(parts...) {
		name, _, _ := strings.Cut(kv, "=")
		if i, ok := at[name]; ok {
			out[i] = kv
			continue
		}
		at[name] = len(out)
		out = append(out, kv)
	}
	return out
}
