package image

// proxyVars are the build arguments that every builder knows without an ARG
// line, and that are in no layer.
var proxyVars = []string{
	"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "FTP_PROXY", "ftp_proxy",
	"NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy",
}

// ProxyArgs returns the proxy variables that are set, for Options.ProxyArgs.
func ProxyArgs(getenv func(string) string) map[string]string {
	args := map[string]string{}
	for _, name := range proxyVars {
		if value := getenv(name); value != "" {
			args[name] = value
		}
	}
	return args
}
