package cabundle

import (
	"encoding/pem"
	"io/fs"
	"strings"
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
		if err != nil || string(got) != tt.want {
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
