package redact

import (
	"strings"
	"testing"
)

// Each of these holds the text s3cr3tVALUE, which must go, beside words that
// must stay.
func TestSecretsGo(t *testing.T) {
	const secret = "s3cr3tVALUE"
	for command, stays := range map[string]string{
		"curl -u me:s3cr3tVALUE https://x.example/":                                     "https://x.example/",
		"curl --user 's3cr3tVALUE' x":                                                   "curl --user",
		"curl -H 'Authorization: Bearer s3cr3tVALUE' https://x.example":                 "Authorization: Bearer",
		`curl -H "X-Api-Key: s3cr3tVALUE" https://x.example`:                            "https://x.example",
		"curl https://me:s3cr3tVALUE@x.example/a":                                       "@x.example/a",
		"curl https://s3cr3tVALUE@x.example/a":                                          "@x.example/a",
		"curl 'https://x.example/a?access_token=s3cr3tVALUE'":                           "access_token=",
		"PASSWORD=s3cr3tVALUE make":                                                     "make",
		"export DB_PASS='s3cr3tVALUE with blanks'; make":                                "make",
		"mysql --password=s3cr3tVALUE -h db":                                            "-h db",
		"mysql --password 's3cr3tVALUE two' -h db":                                      "-h db",
		`bash -c 'curl -H "Authorization: Basic s3cr3tVALUE" x; make'`:                  "make",
		`bash -c "bash -c 'TOKEN=s3cr3tVALUE make'"`:                                    "make",
		`curl -d '{"password":"s3cr3tVALUE","user":"me"}' x`:                            "curl -d",
		`curl -d '{"password": "s3cr3tVALUE"}' x`:                                       "curl -d",
		"docker login --password-stdin --token s3cr3tVALUE":                             "docker login",
		"echo '-----BEGIN PRIVATE KEY-----\ns3cr3tVALUE\n-----END PRIVATE KEY-----' >x": ">x",
		"echo -----BEGIN PRIVATE KEY-----\ns3cr3tVALUE":                                 "echo",
		"npm config set //r.example/:_authToken=s3cr3tVALUE":                            "npm config set",
		"echo plain-s3cr3tVALUE":                                                        "echo",
	} {
		got := Command(command, []string{"MY_TOKEN=plain-s3cr3tVALUE", "HOME=/home/u"})
		if strings.Contains(got, secret) || !strings.Contains(got, Mark) || !strings.Contains(got, stays) {
			t.Errorf("%q\n became %q", command, got)
		}
	}
}

func TestKeysGoByTheirLook(t *testing.T) {
	for _, key := range []string{
		"ghp_16C7e42F292c6912E7710c838347Ae178B4a", "sk-ant-REDACTED-0123456789abcdef", "AKIAIOSFODNN7EXAMPLE",
		"wJalrXUtnFEMI3K7MDENGbPxRfiCYEXAMPLEKEY", "d41d8cd98f00b204e9800998ecf8427e",
		"eyJhbGciOiJIUzI1NiJ9",
	} {
		if got := Command("deploy "+key+" now", nil); strings.Contains(got, key) || !strings.HasPrefix(got, "deploy ") || !strings.HasSuffix(got, " now") {
			t.Errorf("%q", got)
		}
	}
}

func TestTheRestStays(t *testing.T) {
	for _, command := range []string{
		"make test", "git push origin feature/2024-01-15-long-branch-name-of-mine", "git clone ssh://git@x.example/a/b.git",
		"go test ./gate -run TestHookProtocolsWithLongNames/sub", "cat /usr/share/doc/python3.11/README.Debian",
		"mkdir -p src/components", "kubectl get pods -n default", "echo 'a b' && ls", "sed -n 's/a/b/p' x",
		"docker run --rm -v /a:/b:ro image:1.2.3", "git clone https://git@x.example/a", "",
	} {
		if got := Command(command, []string{"HOME=/usr/share", "TERM_TOKEN=x"}); got != command {
			t.Errorf("%q became %q", command, got)
		}
	}
}

func FuzzCommand(f *testing.F) {
	f.Add(`a "b 'c`)
	f.Add(`\`)
	f.Add(`x="`)
	f.Fuzz(func(t *testing.T, s string) {
		got := Command("PASSWORD=hunter2hunter2 "+s, nil)
		if !strings.HasPrefix(got, "PASSWORD="+Mark) {
			t.Errorf("%q", got)
		}
	})
}
