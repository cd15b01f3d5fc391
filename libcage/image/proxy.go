package image

import "strings"

// proxyVars are the build arguments that every builder knows without an ARG
// line, and that are in no layer. Those of engines before 23.0 do not know the
// last one.
var proxyVars = []string{"http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy"}

// ProxyArgs returns the proxy variables that are set, for Options.ProxyArgs.
// Builders take either spelling and give a build both, by chance if they
// differ: the lower case one counts, as it does for curl.
func ProxyArgs(getenv func(string) string) map[string]string {
	args := map[string]string{}
	for _, name := range proxyVars {
		for _, spelling := range []string{name, strings.ToUpper(name)} {
			if value := getenv(spelling); value != "" {
				args[spelling] = value
				break
			}
		}
	}
	return args
}
