package main

import "testing"

func TestParseRule(t *testing.T) {
	r, err := parseRule("POST ^/containers/create$ run docker rmi -f x")
	if err != nil {
		t.Fatal(err)
	}
	if r.command != "docker rmi -f x" || !r.fits("POST", "/containers/create") || r.fits("GET", "/containers/create") || r.fits("POST", "/containers/x/start") {
		t.Errorf("got %+v", r)
	}
	for _, wrong := range []string{"", "POST /x", "POST ( lose", "POST /x vanish", "POST /x delay long", "POST /x status", "POST /x status many"} {
		if _, err := parseRule(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

func TestHead(t *testing.T) {
	tests := []struct{ head, method, path, alone string }{
		{"POST /v1.41/containers/create?name=x HTTP/1.1\r\nHost: e\r\n\r\n", "POST", "/containers/create",
			"POST /v1.41/containers/create?name=x HTTP/1.1\r\nConnection: close\r\nHost: e\r\n\r\n"},
		{"HEAD /_ping HTTP/1.1\r\n\r\n", "HEAD", "/_ping", "HEAD /_ping HTTP/1.1\r\nConnection: close\r\n\r\n"},
		{"POST /grpc HTTP/1.1\r\nconnection: Upgrade\r\n\r\n", "POST", "/grpc", "POST /grpc HTTP/1.1\r\nconnection: Upgrade\r\n\r\n"},
		{"odd\r\n\r\n", "", "", "odd\r\nConnection: close\r\n\r\n"},
	}
	for _, tt := range tests {
		h := head(tt.head)
		if method, path := h.request(); method != tt.method || path != tt.path {
			t.Errorf("%q: got %q %q", tt.head, method, path)
		}
		if got := string(h.alone()); got != tt.alone {
			t.Errorf("%q became %q", tt.head, got)
		}
	}
}
