package scriptedapi

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// readStream returns a stream's events, whose names must be their types.
func readStream(t *testing.T, stream string) []object {
	t.Helper()
	var events []object
	name := ""
	lines := bufio.NewScanner(strings.NewReader(stream))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = text
		}
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var data object
		if err := json.Unmarshal([]byte(text), &data); err != nil {
			t.Fatal(err)
		}
		equal(t, "type", data["type"], any(name))
		events = append(events, data)
	}
	return events
}

// longText has characters of several bytes across the edges of its pieces.
var longText = strings.Repeat("aä€😀", 40)

// TestMessagesStream puts a stream together as a client does and compares it
// with the answer without streaming.
func TestMessagesStream(t *testing.T) {
	_, ts := start(t, `{"turns":[{"usage":{"input":7,"output":9,"cacheRead":3},"reply":[{"text":"`+longText+`"},{"call":"Bash","input":{"command":"`+longText+`"}},{"call":"Write"}]}]}`)
	c := &talk{url: ts.URL, session: "s", stream: true, history: []object{{"role": "user", "content": "go"}}}
	_, stream, err := c.ask(t)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []object
	var last object
	for _, e := range readStream(t, stream) {
		switch e["type"] {
		case "content_block_start":
			block := e["content_block"].(object)
			block["input-text"] = ""
			blocks = append(blocks, block)
		case "content_block_delta":
			block, delta := blocks[int(e["index"].(float64))], e["delta"].(object)
			if delta["type"] == "text_delta" {
				block["text"] = block["text"].(string) + delta["text"].(string)
			} else {
				block["input-text"] = block["input-text"].(string) + delta["partial_json"].(string)
			}
		case "message_delta":
			last = e
		}
	}
	c.stream = false
	_, whole, err := c.ask(t)
	if err != nil {
		t.Fatal(err)
	}
	var message object
	if err := json.Unmarshal([]byte(whole), &message); err != nil {
		t.Fatal(err)
	}
	for i, want := range message["content"].([]any) {
		want := want.(object)
		got := blocks[i]
		equal(t, "id", got["id"], want["id"])
		equal(t, "name", got["name"], want["name"])
		equal(t, "text", got["text"], want["text"])
		if want["input"] != nil {
			equal(t, "input", got["input-text"].(string), string(encode(want["input"])))
		}
	}
	equal(t, "blocks", len(blocks), 3)
	equal(t, "stop", last["delta"].(object)["stop_reason"], any("tool_use"))
	equal(t, "usage", string(encode(last["usage"])), string(encode(message["usage"])))
	equal(t, "usage", string(encode(message["usage"])), `{"cache_creation_input_tokens":0,"cache_read_input_tokens":3,"input_tokens":7,"output_tokens":9}`)
}

// TestResponsesStream checks that each item's deltas add up to it, and that
// the items are those of the completed response.
func TestResponsesStream(t *testing.T) {
	_, ts := start(t, `{"turns":[{"reply":[{"text":"`+longText+`"},{"call":"exec_command","input":{"cmd":"`+longText+`"}},{"call":"exec","namespace":"functions","input":"`+longText+`"}]}]}`)
	body := `{"stream":true,"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}],
		"tools":[{"type":"function","name":"exec_command"},{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec"}]}]}`
	resp, err := http.Post(ts.URL+"/v1/responses", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text strings.Builder
	if err := resp.Write(&text); err != nil {
		t.Fatal(err)
	}
	var items []any
	deltas := map[int]string{}
	var completed object
	for i, e := range readStream(t, text.String()) {
		equal(t, "sequence", e["sequence_number"], any(float64(i)))
		if delta, ok := e["delta"].(string); ok {
			deltas[int(e["output_index"].(float64))] += delta
		}
		switch e["type"] {
		case "response.output_item.done":
			items = append(items, e["item"])
		case "response.completed":
			completed = e["response"].(object)
		}
	}
	equal(t, "output", string(encode(completed["output"])), string(encode(items)))
	equal(t, "items", len(items), 3)
	equal(t, "text", deltas[0], longText)
	equal(t, "arguments", deltas[1], items[1].(object)["arguments"].(string))
	equal(t, "input", deltas[2], longText)
	equal(t, "type", items[2].(object)["type"], any("custom_tool_call"))
	equal(t, "namespace", items[2].(object)["namespace"], any("functions"))
}

// TestFaults has each fault, with and without streaming, and then the retry.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name, fault string
		status      int // 0: the connection breaks before an answer
		want        string
		stream, cut bool
	}{
		{"status", `"fault":{"status":529}`, 529, "overloaded_error", true, false},
		{"rate limit", `"fault":{"status":429,"retryAfter":"7","message":"slow down"}`, 429, "slow down", false, false},
		{"cut before", `"fault":{"cut":"before"}`, 0, "", true, true},
		{"cut stream", `"reply":[{"text":"half"}],"fault":{"cut":"stream"}`, 200, "half", true, true},
		{"cut whole", `"reply":[{"text":"half"}],"fault":{"cut":"stream"}`, 0, "", false, true},
		{"event", `"reply":[{"text":"half"}],"fault":{"event":true}`, 200, "event: error\ndata: {\"error\":{\"message\":\"scripted fault\",\"type\":\"overloaded_error\"}", true, false},
		{"event whole", `"fault":{"event":true}`, 500, "overloaded_error", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, ts := start(t, `{"turns":[{"times":2,`+c.fault+`},{"reply":[{"text":"after all"}]}]}`)
			client := &talk{url: ts.URL, session: "s", stream: c.stream, history: []object{{"role": "user", "content": "go"}}}
			for range 2 {
				status, answer, err := client.ask(t)
				equal(t, "status", status, c.status)
				equal(t, "cut", err != nil, c.cut)
				contains(t, "answer", answer, c.want)
				if strings.Contains(answer, "message_stop") {
					t.Errorf("the stream came to its end: %s", answer)
				}
			}
			_, answer, err := client.ask(t)
			equal(t, "err", err, nil)
			contains(t, "answer", answer, "after all")
			equal(t, "err", server.Err(), nil)
		})
	}
}
