package install

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agent-cage/agent-cage/policy/strictjson"
)

// node is a JSON value by its place in a text.
type node struct {
	start, end int
	value      strictjson.Value
	members    []member
	items      []node
}

type member struct {
	key   string
	start int // of the key
	node  node
}

func (n *node) get(key string) *node {
	for i := range n.members {
		if n.members[i].key == key {
			return &n.members[i].node
		}
	}
	return nil
}

// locate finds the places of the values in a text that strictjson accepts.
func locate(text string) (node, error) {
	v, err := strictjson.Parse([]byte(text))
	if err != nil {
		return node{}, err
	}
	if v.Kind != strictjson.Object {
		return node{}, errors.New("not an object")
	}
	n, _ := place(text, blanks(text, 0), v)
	return n, nil
}

func blanks(text string, i int) int {
	for i < len(text) && strings.IndexByte(" \t\r\n", text[i]) >= 0 {
		i++
	}
	return i
}

func stringEnd(text string, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// place returns the node of v, which begins at i, and where it ends. The text
// is known to be valid.
func place(text string, i int, v strictjson.Value) (node, int) {
	n := node{start: i, value: v}
	switch v.Kind {
	case strictjson.Object:
		i++
		for _, m := range v.Members {
			i = blanks(text, i)
			if text[i] == ',' {
				i = blanks(text, i+1)
			}
			out := member{key: m.Key, start: i}
			i = blanks(text, stringEnd(text, i))
			i = blanks(text, i+1) // the colon
			out.node, i = place(text, i, m.Value)
			n.members = append(n.members, out)
		}
		i = blanks(text, i) + 1
	case strictjson.Array:
		i++
		for _, item := range v.Items {
			i = blanks(text, i)
			if text[i] == ',' {
				i = blanks(text, i+1)
			}
			var out node
			out, i = place(text, i, item)
			n.items = append(n.items, out)
		}
		i = blanks(text, i) + 1
	case strictjson.String:
		i = stringEnd(text, i)
	default:
		for i < len(text) && strings.IndexByte(" \t\r\n,]}", text[i]) < 0 {
			i++
		}
	}
	n.end = i
	return n, i
}

// add puts a value at the end of an object or array, in the style of what is
// there. key is for objects.
func add(text string, n node, key string, v strictjson.Value) string {
	starts := n.starts()
	indent := lineIndent(text, n.start)
	gap, unit := "\n"+indent+"  ", "  "
	if len(starts) > 0 {
		last := starts[len(starts)-1]
		i := last
		for strings.IndexByte(" \t\r\n", text[i-1]) >= 0 {
			i--
		}
		gap = text[i:last]
	} else if !strings.Contains(text, "\n") && n.start > 0 {
		gap = ""
	}
	inner, multi := "", strings.Contains(gap, "\n")
	if multi {
		inner = gap[strings.LastIndexByte(gap, '\n')+1:]
		if extra, ok := strings.CutPrefix(inner, indent); ok && extra != "" {
			unit = extra
		}
	}
	body := ""
	if key != "" {
		body = string(strictjson.AppendString(nil, key)) + ": "
	}
	if multi {
		body += pretty(v, inner, unit)
	} else {
		body += string(strictjson.Append(nil, v))
	}
	if len(starts) > 0 {
		end := n.ends()[len(starts)-1]
		if gap == "" {
			gap = " "
		}
		return text[:end] + "," + gap + body + text[end:]
	}
	after := ""
	if multi {
		after = "\n" + indent
	}
	return text[:n.start+1] + gap + body + after + text[n.end-1:]
}

func (n node) starts() []int {
	var out []int
	for _, m := range n.members {
		out = append(out, m.start)
	}
	for _, it := range n.items {
		out = append(out, it.start)
	}
	return out
}

func (n node) ends() []int {
	var out []int
	for _, m := range n.members {
		out = append(out, m.node.end)
	}
	for _, it := range n.items {
		out = append(out, it.end)
	}
	return out
}

// remove takes the i-th member or item out of an object or array.
func remove(text string, n node, i int) string {
	starts, ends := n.starts(), n.ends()
	switch {
	case len(starts) == 1:
		return text[:n.start+1] + text[n.end-1:]
	case i > 0:
		return text[:ends[i-1]] + text[ends[i]:]
	}
	return text[:starts[0]] + text[starts[1]:]
}

// lineIndent is the white space that the line of a place begins with.
func lineIndent(text string, at int) string {
	line := text[strings.LastIndexByte(text[:at], '\n')+1:]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

func pretty(v strictjson.Value, indent, unit string) string {
	var parts []string
	open, end := "{", "}"
	switch v.Kind {
	case strictjson.Object:
		for _, m := range v.Members {
			parts = append(parts, fmt.Sprintf("%s: %s", strictjson.AppendString(nil, m.Key), pretty(m.Value, indent+unit, unit)))
		}
	case strictjson.Array:
		open, end = "[", "]"
		for _, it := range v.Items {
			parts = append(parts, pretty(it, indent+unit, unit))
		}
	default:
		return string(strictjson.Append(nil, v))
	}
	in := "\n" + indent + unit
	return open + in + strings.Join(parts, ","+in) + "\n" + indent + end
}
