package strictjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	v, err := Parse([]byte(` {"a":"x\n\u00e9\ud83d\ude00","b":[1,-2.5e+3,true,false,null],"c":{},"d":[]} `))
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Get("a").Text; got != "x\né😀" {
		t.Errorf("a = %q", got)
	}
	if got := string(Append(nil, v)); got != `{"a":"x\né😀","b":[1,-2.5e+3,true,false,null],"c":{},"d":[]}` {
		t.Errorf("got %s", got)
	}
	if v.Get("A").Kind != Invalid {
		t.Error("the case of a key is folded")
	}
	if got := string(Append(nil, v.With("a", "y").With("e", "z"))); !strings.HasPrefix(got, `{"a":"y"`) || !strings.HasSuffix(got, `"e":"z"}`) {
		t.Errorf("got %s", got)
	}
	if v.Get("a").Text != "x\né😀" {
		t.Error("With changed its receiver")
	}
}

// Each text is read by encoding/json without complaint or is plainly broken;
// both must be refused here.
func TestRefuses(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+2) + strings.Repeat("]", MaxDepth+2)
	many := `{"k0":0`
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		many += `,"` + string(c) + `":0`
	}
	for text, want := range map[string]string{
		`{"a":1,"a":2}`:       "duplicate key",
		`{"a":1,"\u0061":2}`:  "duplicate key",
		`{"a":{"b":1,"b":2}}`: "duplicate key",
		many + `,"c":1}`:      "duplicate key",
		`{} {}`:               "trailing data",
		`{}x`:                 "trailing data",
		"{}\x00":              "trailing data",
		deep:                  "nested too deeply",
		`"\ud800"`:            "lone surrogate",
		`"\ud800\u0041"`:      "lone surrogate",
		`"\udc00\ud800"`:      "lone surrogate",
		"\"\xff\"":            "invalid UTF-8",
		"\"\\n\xc3\"":         "invalid UTF-8",
		"\"\xed\xa0\x80\"":    "invalid UTF-8",
		"{\"\xff\":1}":        "invalid UTF-8",
		"\"a\nb\"":            "control character",
		"\"\\na\tb\"":         "control character",
		"\"a\x00b\"":          "control character",
		`"\x41"`:              "bad escape",
		`"\u12G4"`:            "bad escape",
		`"\u12`:               "bad escape",
		`"a`:                  "unexpected end",
		`"a\n`:                "unexpected end",
		`{"a"`:                "expected a colon",
		`{"a":`:               "unexpected end",
		`{"a":1`:              "expected a comma",
		`{a:1}`:               "expected a key",
		`{"a":1,}`:            "expected a key",
		`[1,]`:                "unexpected character",
		`[1`:                  "expected a comma",
		`01`:                  "trailing data",
		`1.`:                  "bad number",
		`-`:                   "bad number",
		`1e`:                  "bad number",
		`+1`:                  "unexpected character",
		`NaN`:                 "unexpected character",
		`'a'`:                 "unexpected character",
		"\ufeff{}":            "unexpected character",
		`// c`:                "unexpected character",
		``:                    "unexpected end",
		`   `:                 "unexpected end",
	} {
		if v, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v, want an error with %q", text, v, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,"\ud83d\ude00",null,true]}`, `"\u0041"`, `{"a":1,"a":1}`, `1e5`, "\"\xff\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Parse(data)
		if err != nil {
			return
		}
		std, err := standard(data)
		if err != nil {
			t.Fatalf("accepted what encoding/json refuses: %v", err)
		}
		again, err := standard(Append(nil, v))
		if err != nil {
			t.Fatalf("written badly: %v", err)
		}
		if !reflect.DeepEqual(std, again) {
			t.Fatalf("read differently: %#v and %#v", std, again)
		}
	})
}

// standard reads as encoding/json does, numbers by their literal.
func standard(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}
