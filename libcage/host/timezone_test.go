package host

import (
	"io/fs"
	"testing"
)

func TestTimezone(t *testing.T) {
	for target, want := range map[string]string{
		"/usr/share/zoneinfo/Europe/Berlin":           "Europe/Berlin",
		"../usr/share/zoneinfo/UTC":                   "UTC",
		"/var/db/timezone/zoneinfo/America/Sao_Paulo": "America/Sao_Paulo",
		"/somewhere/else":                             "",
	} {
		if got := Timezone(func(string) (string, error) { return target, nil }); got != want {
			t.Errorf("%s: got %q, want %q", target, got, want)
		}
	}
	if got := Timezone(func(string) (string, error) { return "", fs.ErrNotExist }); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}
