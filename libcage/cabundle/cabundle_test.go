package cabundle

import (
	"encoding/pem"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func cert(content string) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(content)}))
}

func TestFind(t *testing.T) {
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("key")}))
	files := map[string]string{
		"/corp.pem":                          "# our proxy\n" + cert("corp") + key,
		"/both.pem":                          cert("corp") + cert("other"),
		"/etc/ssl/certs/ca-certificates.crt": cert("system"),
		"/empty.pem":                         "nothing",
	}
	readFile := func(path string) ([]byte, error) {
		if data, ok := files[path]; ok {
			return []byte(data), nil
		}
		return nil, fs.ErrNotExist
	}
	tests := []struct {
		name, want, wantErr string
		env                 map[string]string
	}{
		{name: "system by default", want: cert("system")},
		{name: "variable alone, without its key", env: map[string]string{"CAGE_CA_BUNDLE": "/corp.pem"}, want: cert("corp")},
		{name: "extra ones beside the system's", env: map[string]string{"NODE_EXTRA_CA_CERTS": "/both.pem"}, want: cert("corp") + cert("other") + cert("system")},
		{name: "all variables, each certificate once", env: map[string]string{"SSL_CERT_FILE": "/corp.pem", "NODE_EXTRA_CA_CERTS": "/both.pem"}, want: cert("corp") + cert("other")},
		{name: "missing file", env: map[string]string{"SSL_CERT_FILE": "/missing"}, wantErr: "SSL_CERT_FILE: "},
		{name: "no certificate", env: map[string]string{"CAGE_CA_BUNDLE": "/empty.pem"}, wantErr: "holds no PEM certificate"},
	}
	for _, tt := range tests {
		got, err := Find(func(n string) string { return tt.env[n] }, readFile)
		if tt.wantErr != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("%s: got %v, want %q", tt.name, err, tt.wantErr)
			}
			continue
		}
		if err != nil || string(got.PEM()) != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestNoBundleAnywhere(t *testing.T) {
	got, err := Find(func(string) string { return "" }, func(string) ([]byte, error) { return nil, fs.ErrNotExist })
	if err != nil || len(got) != 0 {
		t.Errorf("got %q, %v, want nothing", got, err)
	}
}

func TestParse(t *testing.T) {
	block := func(label, body string) string {
		return "-----BEGIN " + label + "-----\n" + body + "\n-----END " + label + "-----\n"
	}
	wrapped := cert(strings.Repeat("long", 40))
	tests := []struct{ name, in, want string }{
		{"comments around it", "# ours\n" + cert("a") + "more words", cert("a")},
		{"each once, in the first's place", cert("a") + cert("b") + cert("a"), cert("a") + cert("b")},
		{"CRLF", strings.ReplaceAll(wrapped, "\n", "\r\n"), wrapped},
		{"indented", strings.ReplaceAll(wrapped, "\n", "\n  "), wrapped},
		{"no end of the last line", strings.TrimSpace(cert("a")), cert("a")},
		{"a key", block("PRIVATE KEY", "a2V5") + cert("a"), cert("a")},
		{"OpenSSL's own kind without its settings", block("TRUSTED CERTIFICATE", "MAMCAQcwAA=="), block("CERTIFICATE", "MAMCAQc=")},
		{"no base64", block("CERTIFICATE", "a*b") + cert("a"), cert("a")},
		{"cut off", cert("a") + cert("b")[:30], cert("a")},
		{"nothing", "", ""},
	}
	for _, tt := range tests {
		if got := string(Parse([]byte(tt.in)).PEM()); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestWithout(t *testing.T) {
	all := Parse([]byte(cert("a") + cert("b") + cert("c")))
	rest := all.Without(Parse([]byte(cert("b") + cert("x"))).IDs())
	if got := string(rest.PEM()); got != cert("a")+cert("c") {
		t.Errorf("got %q", got)
	}
	if rest := all.Without(all.IDs()); len(rest) != 0 {
		t.Errorf("nothing new gave %q", rest.PEM())
	}
}

func TestReadFile(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, t.TempDir(), "/dev/zero", "/no/such/file"} {
		if _, err := ReadFile(path); err == nil {
			t.Errorf("%s was read", path)
		}
	}
}
