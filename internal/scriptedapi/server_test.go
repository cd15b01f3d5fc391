package scriptedapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// start serves a script and fails the test if Err is not as it says.
func start(t *testing.T, script string) (*Server, *httptest.Server) {
	t.Helper()
	loaded, err := Load(strings.NewReader(script), nil)
	if err != nil {
		t.Fatal(err)
	}
	server := New(loaded)
	ts := httptest.NewServer(server.Handler())
	t.Cleanup(ts.Close)
	return server, ts
}

// talk is a client conversation in the Messages API, as far as tests need it.
type talk struct {
	url, session string
	stream       bool
	history      []object
}

func (c *talk) body() object {
	return object{
		"model": "m", "stream": c.stream, "max_tokens": 100, "messages": c.history,
		"system": "Primary working directory: /project\n",
		"tools":  []object{{"name": "Bash"}, {"name": "Write"}},
	}
}

func (c *talk) ask(t *testing.T) (int, string, error) {
	t.Helper()
	req, err := http.NewRequest("POST", c.url+"/v1/messages", bytes.NewReader(encode(c.body())))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Claude-Code-Session-Id", c.session)
	req.Header.Set("X-Api-Key", "secret-key")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

// say asks with a new prompt and takes a whole message into the history.
func (c *talk) say(t *testing.T, content any) (int, string) {
	t.Helper()
	c.history = append(c.history, object{"role": "user", "content": content})
	status, answer, err := c.ask(t)
	if err != nil {
		t.Fatal(err)
	}
	var message struct{ Content []object }
	if json.Unmarshal([]byte(answer), &message) == nil && status == http.StatusOK {
		c.history = append(c.history, object{"role": "assistant", "content": message.Content})
	}
	return status, answer
}

func result(id, text string) []object {
	return []object{{"type": "tool_result", "tool_use_id": id, "content": text}}
}

const job = `{"conversations":[{"name":"job","turns":[
	{"expect":{"prompt":"begin","tools":"Write"},"reply":[{"text":"Now."},{"call":"Bash","input":{"command":"ls {{cwd}}"}}]},
	{"expect":{"result":["file-a","file-b"],"noResult":"secret","capture":{"id":"id=(\\w+)"}},"reply":[{"text":"got {{id}}"}]}]}]}`

func TestConversation(t *testing.T) {
	server, ts := start(t, job)
	c := &talk{url: ts.URL, session: "s"}
	_, first := c.say(t, "begin please")
	contains(t, "first", first, `"input":{"command":"ls /project"}`)
	contains(t, "first", first, `"stop_reason":"tool_use"`)
	_, second := c.say(t, result("toolu_scripted_1_1_1", "file-a file-b id=x7"))
	contains(t, "second", second, "got x7")
	contains(t, "second", second, `"stop_reason":"end_turn"`)
	if err := server.Err(); err != nil {
		t.Error(err)
	}
	requests := server.Requests()
	equal(t, "requests", len(requests), 2)
	equal(t, "result", requests[1].Results[0].Text, "file-a file-b id=x7")
	equal(t, "turn", requests[1].Turn, 2)
}

// TestMismatch breaks one expectation after the other.
func TestMismatch(t *testing.T) {
	for _, c := range []struct{ name, prompt, result, want string }{
		{"prompt", "hello", "", `prompt without "begin"`},
		{"result", "begin", "file-a id=1", `tool results without "file-b"`},
		{"forbidden", "begin", "file-a file-b id=1 secret", `tool results contain "secret"`},
		{"capture", "begin", "file-a file-b", "nothing to capture"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, ts := start(t, job)
			client := &talk{url: ts.URL, session: "s"}
			status, answer := client.say(t, c.prompt)
			if c.result != "" {
				status, answer = client.say(t, result("toolu_scripted_1_1_1", c.result))
			}
			equal(t, "status", status, http.StatusBadRequest)
			if server.Err() == nil {
				t.Fatal("no error")
			}
			contains(t, "error", server.Err().Error(), c.want)
			equal(t, "reports", len(strings.Split(server.Err().Error(), "\n")), 1)
			contains(t, "answer", answer, "scripted-api: request")
		})
	}
}

func TestToolMarkedAsError(t *testing.T) {
	for _, marked := range []bool{true, false} {
		server, ts := start(t, `{"turns":[{"reply":[{"call":"Bash"}]},{"expect":{"error":true},"reply":[{"text":"x"}]}]}`)
		c := &talk{url: ts.URL, session: "s"}
		c.say(t, "go")
		answer := result("toolu_scripted_1_1_0", "exit 1")
		answer[0]["is_error"] = marked
		c.say(t, answer)
		equal(t, "matches", server.Err() == nil, marked)
	}
}

func TestScriptCallsUnofferedTool(t *testing.T) {
	for _, c := range []struct {
		item string
		ok   bool
	}{{`{"call":"Gone"}`, false}, {`{"call":"Gone","unoffered":true}`, true}} {
		server, ts := start(t, `{"turns":[{"reply":[`+c.item+`]}]}`)
		(&talk{url: ts.URL, session: "s"}).say(t, "go")
		equal(t, c.item, server.Err() == nil, c.ok)
	}
}

func TestEnds(t *testing.T) {
	for _, c := range []struct {
		name, script string
		prompts      int
		want         string
	}{
		{"never begun", `{"conversations":[{"name":"a","turns":[{"reply":[{"text":"x"}]}]}]}`, 0, "conversation a: no client began it"},
		{"left early", `{"conversations":[{"name":"a","turns":[{"reply":[{"text":"x"}]},{"reply":[{"text":"y"}]}]}]}`, 1, "asked for 1 of 2 turns"},
		{"optional", `{"conversations":[{"optional":true,"turns":[{"reply":[{"text":"x"}]},{"reply":[{"text":"y"}]}]}]}`, 1, ""},
		{"optional, unused", `{"conversations":[{"optional":true,"turns":[{"reply":[{"text":"x"}]}]}]}`, 0, ""},
		{"too long", `{"turns":[{"reply":[{"text":"x"}]}]}`, 2, "the script has ended after 1 turns"},
		{"no match", `{"conversations":[{"optional":true,"match":{"prompt":"other"},"turns":[{"reply":[{"text":"x"}]}]}]}`, 1, "no conversation of the script matches"},
		{"other api", `{"conversations":[{"optional":true,"match":{"api":"responses"},"turns":[{"reply":[{"text":"x"}]}]}]}`, 1, "no conversation of the script matches"},
		{"other tools", `{"conversations":[{"optional":true,"match":{"tools":"Edit"},"turns":[{"reply":[{"text":"x"}]}]}]}`, 1, "no conversation of the script matches"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, ts := start(t, c.script)
			client := &talk{url: ts.URL, session: "s"}
			for i := range c.prompts {
				client.say(t, fmt.Sprintf("prompt %d", i))
			}
			err := server.Err()
			if c.want == "" {
				equal(t, "err", err, nil)
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			contains(t, "err", err.Error(), c.want)
		})
	}
}

// TestRetryIsNoTurn: a client that sends an answered request again, streaming
// or not, gets the same turn again.
func TestRetryIsNoTurn(t *testing.T) {
	server, ts := start(t, `{"turns":[{"reply":[{"text":"one"}]}]}`)
	c := &talk{url: ts.URL, session: "s", stream: true, history: []object{{"role": "user", "content": "go"}}}
	for range 2 {
		_, answer, err := c.ask(t)
		if err != nil {
			t.Fatal(err)
		}
		contains(t, "answer", answer, "one")
		c.stream = false
	}
	equal(t, "err", server.Err(), nil)
	equal(t, "replayed", server.Requests()[1].Replayed, true)
}

// TestManyConversations has clients of two kinds at once on one script.
func TestManyConversations(t *testing.T) {
	server, ts := start(t, `{"conversations":[
		{"name":"a","match":{"prompt":"kind a"},"turns":[{"reply":[{"text":"a1"}]},{"reply":[{"text":"a2"}]}]},
		{"name":"b","turns":[{"reply":[{"text":"b1"}]},{"reply":[{"text":"b2"}]}]}]}`)
	var wg sync.WaitGroup
	for i := range 20 {
		kind := string("ab"[i%2])
		wg.Go(func() {
			c := &talk{url: ts.URL, session: fmt.Sprint(i)}
			_, one := c.say(t, "kind "+kind)
			_, two := c.say(t, "more")
			contains(t, "one", one, kind+"1")
			contains(t, "two", two, kind+"2")
		})
	}
	wg.Wait()
	equal(t, "err", server.Err(), nil)
}

func TestAuxiliaryTakesNoTurn(t *testing.T) {
	server, ts := start(t, `{"auxiliary":"a word","auxiliaryPrompts":"[NEW KIND","turns":[{"reply":[{"text":"one"}]}]}`)
	post := func(body string) string {
		resp, err := http.Post(ts.URL+"/v1/messages", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body)
		return string(data)
	}
	contains(t, "plain", post(`{"messages":[{"role":"user","content":"go"}]}`), `"text":"a word"`)
	contains(t, "schema", post(`{"messages":[],"output_config":{"format":{"schema":{"type":"object","properties":{"title":{"type":"string"},"n":{"type":"integer"}}}}}}`),
		`"text":"{\"n\":0,\"title\":\"a word\"}"`)
	c := &talk{url: ts.URL, session: "s"}
	_, named := c.say(t, "[NEW KIND of request]")
	contains(t, "named", named, "a word")
	c.history = nil
	_, turn := c.say(t, "go")
	contains(t, "turn", turn, "one")
	equal(t, "err", server.Err(), nil)
}

func TestOtherPaths(t *testing.T) {
	_, ts := start(t, `{"turns":[{"reply":[{"text":"one"}]}]}`)
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"POST", "/v1/messages/count_tokens?beta=true", 200, `"input_tokens"`},
		{"GET", "/api/hello", 200, ""},
		{"HEAD", "/api/hello", 200, ""},
		{"GET", "/v1/models", 404, "not_found_error"},
		{"GET", "/v1/responses", 426, "no WebSocket"},
		{"GET", "/v1/messages", 404, "not_found_error"},
		{"POST", "/v1/messages", 400, "request body"},
		{"POST", "/v1/responses", 400, "request body"},
	} {
		req, err := http.NewRequest(c.method, ts.URL+c.path, strings.NewReader("no json"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		equal(t, c.method+" "+c.path, resp.StatusCode, c.status)
		contains(t, c.path, string(data), c.want)
	}
}

// TestRecordHasNoCredential reads back the record, which tests compare keys in.
func TestRecordHasNoCredential(t *testing.T) {
	server, ts := start(t, `{"turns":[{"reply":[{"text":"one"}]}]}`)
	var record, log bytes.Buffer
	server.RecordTo, server.LogTo = &record, &log
	(&talk{url: ts.URL, session: "s"}).say(t, "go")
	if strings.Contains(record.String()+log.String(), "secret-key") {
		t.Errorf("the key is in %s or in %s", &record, &log)
	}
	var rec Record
	if err := json.Unmarshal(record.Bytes(), &rec); err != nil {
		t.Fatal(err)
	}
	equal(t, "credential", rec.Credential, "X-Api-Key "+Digest("Bearer secret-key"))
	equal(t, "prompt", rec.Prompt, "go")
	contains(t, "body", string(rec.Body), `"max_tokens":100`)
	contains(t, "log", log.String(), "POST /v1/messages conversation 1#1 turn 1")
}

// TestWaitAndPace measures that a slow answer is slow.
func TestWaitAndPace(t *testing.T) {
	_, ts := start(t, `{"turns":[{"wait":"50ms","pace":"10ms","reply":[{"text":"one"}]}]}`)
	c := &talk{url: ts.URL, session: "s", stream: true, history: []object{{"role": "user", "content": "go"}}}
	begun := time.Now()
	if _, _, err := c.ask(t); err != nil {
		t.Fatal(err)
	}
	// message_start, block start, one delta, block stop, message_delta and
	// message_stop have five gaps.
	if took := time.Since(begun); took < 100*time.Millisecond {
		t.Errorf("took %v", took)
	}
}
