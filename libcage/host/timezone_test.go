package host

import (
	"io/fs"
	"testing"
)

// etc is a file system: links begin with an arrow.
type etc map[string]string

func (e etc) Readlink(name string) (string, error) {
	if text := e[name]; len(text) > 1 && text[:1] == ">" {
		return text[1:], nil
	}
	return "", fs.ErrInvalid
}

func (e etc) ReadFile(name string) ([]byte, error) {
	if text, ok := e[name]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func TestTimezone(t *testing.T) {
	const berlin, utc = "TZif2\x00data\n\x01\nCET-1CEST,M3.5.0,M10.5.0/3\n", "TZif2\x00\nUTC0\n"
	for name, tt := range map[string]struct {
		files etc
		want  string
	}{
		"a link":                     {etc{"/etc/localtime": ">/usr/share/zoneinfo/Europe/Berlin"}, "Europe/Berlin"},
		"a relative link":            {etc{"/etc/localtime": ">../usr/share/zoneinfo/UTC"}, "UTC"},
		"a link of a Mac":            {etc{"/etc/localtime": ">/var/db/timezone/zoneinfo/America/Sao_Paulo"}, "America/Sao_Paulo"},
		"a link to nothing":          {etc{"/etc/localtime": ">/somewhere/else"}, ""},
		"a link to a link":           {etc{"/etc/localtime": ">../persist/localtime", "/persist/localtime": ">/usr/share/zoneinfo/Asia/Tokyo"}, "Asia/Tokyo"},
		"a link to itself":           {etc{"/etc/localtime": ">localtime"}, ""},
		"a link to a copy":           {etc{"/etc/localtime": ">/persist/localtime", "/persist/localtime": utc}, "UTC0"},
		"a link to a named copy":     {etc{"/etc/localtime": ">/persist/localtime", "/persist/localtime": berlin, "/etc/timezone": "Europe/Berlin\n", "/usr/share/zoneinfo/Europe/Berlin": berlin}, "Europe/Berlin"},
		"nothing":                    {etc{}, ""},
		"a copy that has a name":     {etc{"/etc/localtime": berlin, "/etc/timezone": "Europe/Berlin\n", "/usr/share/zoneinfo/Europe/Berlin": berlin}, "Europe/Berlin"},
		"a copy with another name":   {etc{"/etc/localtime": berlin, "/etc/timezone": "UTC\n", "/usr/share/zoneinfo/UTC": utc}, "CET-1CEST,M3.5.0,M10.5.0/3"},
		"a name of no zone":          {etc{"/etc/localtime": berlin, "/etc/timezone": "../../../etc/localtime\n"}, "CET-1CEST,M3.5.0,M10.5.0/3"},
		"a copy without a name":      {etc{"/etc/localtime": utc}, "UTC0"},
		"a copy of version 1":        {etc{"/etc/localtime": "TZif\x00\x00\nUTC0\n"}, ""},
		"a copy that was cut":        {etc{"/etc/localtime": "TZif2\x00\nUTC"}, ""},
		"a file that is no zone":     {etc{"/etc/localtime": "hello\nUTC0\n"}, ""},
		"an empty file":              {etc{"/etc/localtime": ""}, ""},
		"a rule with odd characters": {etc{"/etc/localtime": "TZif2\x00\nU T\x1bC0\n"}, ""},
	} {
		if got := Timezone(tt.files); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
