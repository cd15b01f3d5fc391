package plan

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// Every field that a plan has as JSON is in its documentation.
func TestSchemaIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/box.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, name := range regexp.MustCompile("`[^`]+`").FindAllString(strings.Split(line, " | ")[0], -1) {
			for _, part := range strings.Split(strings.Trim(name, "`[]."), ".") {
				documented[strings.TrimSuffix(part, "[]")] = true
			}
		}
	}
	for _, name := range fieldNames(reflect.TypeFor[Plan]()) {
		if !documented[name] {
			t.Errorf("docs/box.md does not say what %q is", name)
		}
	}
}

// fieldNames returns the names under which a type's fields are in JSON, and
// those of the types in it.
func fieldNames(of reflect.Type) []string {
	switch of.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		return fieldNames(of.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	var names []string
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if name != "-" {
			names = append(names, name)
			names = append(names, fieldNames(of.Field(i).Type)...)
		}
	}
	return names
}
