package scriptedapi

import "encoding/json"

// schema is as much of JSON Schema as clients use for short answers.
type schema struct {
	Type       string            `json:"type"`
	Enum       []any             `json:"enum"`
	Properties map[string]schema `json:"properties"`
}

// sample returns the smallest value that fits, with text for each string.
func (s *schema) sample(text string) any {
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	switch s.Type {
	case "string":
		return text
	case "integer", "number":
		return 0
	case "boolean":
		return false
	case "array":
		return []any{}
	case "object":
		out := object{}
		for name, property := range s.Properties {
			out[name] = property.sample(text)
		}
		return out
	}
	return nil
}

// auxiliaryText is text itself or, for a request that wants JSON of a certain
// form, such JSON with text in it.
func (r *request) auxiliaryText(text string) string {
	var wanted schema
	if len(r.schema) == 0 || json.Unmarshal(r.schema, &wanted) != nil {
		return text
	}
	return string(encode(wanted.sample(text)))
}
