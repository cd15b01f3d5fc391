package receipt

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/agent-cage/agent-cage/libcage/plan"
)

// secretName matches the names of variables whose values are secrets.
var secretName = regexp.MustCompile(`(?i)(KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH)`)

// minSecret is the length below which a value is too common a text to be
// looked for.
const minSecret = 6

// Hide replaces, by $NAME, the values of an environment's secret variables
// wherever they stand in the receipt: in an argument that a user has expanded
// one into, or in an engine's error that quotes a proxy's password. The plan is
// replaced by a copy, not changed. env is NAME=value.
func (r *Receipt) Hide(env []string) {
	replacer := secrets(env)
	if r.Plan != nil {
		r.Plan = hidePlan(r.Plan, replacer)
	}
	if r.Exit.Fault != nil {
		r.Exit.Fault = &Fault{Kind: r.Exit.Fault.Kind, Detail: replacer.Replace(r.Exit.Fault.Detail)}
	}
	r.Engine.Endpoint = withoutPassword(replacer.Replace(r.Engine.Endpoint))
}

func hidePlan(p *plan.Plan, replacer *strings.Replacer) *plan.Plan {
	copied := *p
	copied.Command.Argv = replaceAll(p.Command.Argv, replacer)
	copied.Warnings = replaceAll(p.Warnings, replacer)
	return &copied
}

func replaceAll(list []string, replacer *strings.Replacer) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = replacer.Replace(list[i])
	}
	return list
}

// secrets replaces longer values first, so that one that holds another is
// hidden as a whole.
func secrets(env []string) *strings.Replacer {
	type pair struct{ secret, name string }
	var pairs []pair
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		secret := value
		if !secretName.MatchString(name) {
			secret = password(value)
		}
		if len(secret) >= minSecret {
			pairs = append(pairs, pair{secret, name})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return len(b.secret) - len(a.secret) })
	var oldnew []string
	for _, p := range pairs {
		oldnew = append(oldnew, p.secret, "$"+p.name)
	}
	return strings.NewReplacer(oldnew...)
}

// password returns that of a URL, as in a proxy's.
func password(value string) string {
	if !strings.Contains(value, "@") {
		return ""
	}
	u, err := url.Parse(value)
	if err != nil || u.User == nil {
		return ""
	}
	secret, _ := u.User.Password()
	return secret
}

// withoutPassword returns a URL with its password starred.
func withoutPassword(value string) string {
	if u, err := url.Parse(value); err == nil && password(value) != "" {
		return u.Redacted()
	}
	return value
}
