package scriptedapi

import "fmt"

func messagesResponse(turn *Turn, model, id string) response {
	usage := turn.Usage.orDefault()
	counts := object{
		"input_tokens":                usage.Input,
		"cache_read_input_tokens":     usage.CacheRead,
		"cache_creation_input_tokens": usage.CacheCreate,
		"output_tokens":               usage.Output,
	}
	message := object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": counts,
	}
	r := response{events: []event{{"message_start", object{"message": message}}}}
	stop := "end_turn"
	blocks := []any{}
	for i := range turn.Reply {
		item := &turn.Reply[i]
		if item.Call != "" {
			stop = "tool_use"
		}
		block, events := messagesBlock(item, i, fmt.Sprintf("toolu_%s_%d", id, i))
		r.events = append(r.events, events...)
		blocks = append(blocks, block)
	}
	r.end = []event{
		{"message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": counts}},
		{"message_stop", object{}},
	}
	r.whole = object{
		"id": message["id"], "type": "message", "role": "assistant", "model": model,
		"content": blocks, "stop_reason": stop, "stop_sequence": nil, "usage": counts,
	}
	return r
}

// messagesBlock returns a content block and the events that stream it.
func messagesBlock(item *Item, index int, id string) (object, []event) {
	var whole, start object
	var deltas []object
	if item.Call == "" {
		whole = object{"type": "text", "text": item.Text}
		start = object{"type": "text", "text": ""}
		for _, text := range pieces(item.Text) {
			deltas = append(deltas, object{"type": "text_delta", "text": text})
		}
	} else {
		input := item.arguments()
		whole = object{"type": "tool_use", "id": id, "name": item.Call, "input": input}
		start = object{"type": "tool_use", "id": id, "name": item.Call, "input": object{}}
		for _, text := range pieces(string(encode(input))) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": text})
		}
	}
	events := []event{{"content_block_start", object{"index": index, "content_block": start}}}
	for _, delta := range deltas {
		events = append(events, event{"content_block_delta", object{"index": index, "delta": delta}})
	}
	return whole, append(events, event{"content_block_stop", object{"index": index}})
}

func messagesFailure(kind, message string) object {
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}

func messagesFailed(kind, message string) event {
	return event{"error", object{"error": object{"type": kind, "message": message}}}
}
